package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A sample is an object as Go prints it and as Go encodes it.
type sample struct {
	Object   json.RawMessage `json:"object"`
	Protobuf string          `json:"protobuf"`
}

// samples writes two objects of each stable kind that has a message: one of zero values, and one where every field has a value.
func samples(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, known := range kinds() {
		if !strings.HasPrefix(known.Version, "v1") || len(known.Version) > 2 || strings.HasSuffix(known.Kind, "List") {
			continue
		}
		for _, full := range []bool{false, true} {
			pointer := reflect.New(known.goType)
			if full {
				fill(pointer.Elem(), "", nil)
			}
			object := pointer.Interface().(runtime.Object)
			object.GetObjectKind().SetGroupVersionKind(known.GroupVersionKind)
			printed, err := json.Marshal(object)
			if err != nil {
				return err
			}
			var encoded bytes.Buffer
			if err := protobuf.NewSerializer(nil, nil).Encode(object, &encoded); err != nil {
				return err
			}
			if err := encoder.Encode(sample{printed, base64.StdEncoding.EncodeToString(encoded.Bytes())}); err != nil {
				return err
			}
		}
	}
	return nil
}

var (
	instant = time.Date(2026, 11, 27, 1, 2, 3, 456789000, time.UTC)
	filled  = []any{
		meta.NewTime(instant.Truncate(time.Second)), meta.NewMicroTime(instant), resource.MustParse("1500m"),
		runtime.RawExtension{Raw: []byte(`{"a":[1,"b"]}`)}, meta.FieldsV1{Raw: []byte(`{"f:a":{}}`)},
		apiextensions.JSON{Raw: []byte(`"x"`)}, intstr.FromString("50%"), meta.TypeMeta{},
		// Of the cases of a union one.
		apiextensions.JSONSchemaPropsOrArray{JSONSchemas: []apiextensions.JSONSchemaProps{{Type: "a"}, {Type: "b"}}},
		apiextensions.JSONSchemaPropsOrBool{Allows: true, Schema: &apiextensions.JSONSchemaProps{Type: "a"}},
		apiextensions.JSONSchemaPropsOrStringArray{Property: []string{"a", "b"}},
	}
)

// fill gives a value to every field, lists an item and maps two entries. A type in itself stays empty.
func fill(value reflect.Value, name string, within []reflect.Type) {
	goType := value.Type()
	for _, known := range filled {
		if reflect.TypeOf(known) == goType {
			value.Set(reflect.ValueOf(known))
			return
		}
	}
	switch goType.Kind() {
	case reflect.String:
		value.SetString(name)
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int32, reflect.Int64:
		value.SetInt(-int64(len(name)))
	case reflect.Uint8:
		value.SetUint(7)
	case reflect.Float64:
		value.SetFloat(2.5)
	case reflect.Pointer:
		if !slices.Contains(within, goType.Elem()) {
			value.Set(reflect.New(goType.Elem()))
			fill(value.Elem(), name, within)
		}
	case reflect.Slice:
		if !slices.Contains(within, goType.Elem()) {
			value.Set(reflect.MakeSlice(goType, 1, 1))
			fill(value.Index(0), name, within)
		}
	case reflect.Map:
		if slices.Contains(within, goType.Elem()) {
			return
		}
		value.Set(reflect.MakeMap(goType))
		for _, key := range []string{"b", "a", "a/b"} {
			item := reflect.New(goType.Elem()).Elem()
			fill(item, key, within)
			value.SetMapIndex(reflect.ValueOf(key).Convert(goType.Key()), item)
		}
	case reflect.Struct:
		// Templates of pods are large: one kind has all of it.
		if goType.Name() == "PodTemplateSpec" && within[len(within)-1].Name() != "PodTemplate" {
			return
		}
		within = append(within, goType)
		for i := range goType.NumField() {
			field := goType.Field(i)
			if field.IsExported() && field.Tag.Get("json") != "-" {
				fill(value.Field(i), strings.ToLower(field.Name), within)
			}
		}
	}
}
