package main

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What apimachinery makes of texts of quantities: "q TEXT CANONICAL VALUE MILLIVALUE" or "q TEXT error", and of pairs:
// "p FIRST SECOND COMPARISON SUM DIFFERENCE". Separated by tabs.
func quantities(out io.Writer) {
	numbers := []string{"0", "1", "-1", "+1", "007", "1.5", ".5", "5.", "-0.1", "0.001", "1000", "1024", "1025", "1536", "-2048", "999999",
		"1000000", "12345678901", "0.0000000001", "-0.0000000001", "1.0000000001", "123456789.987654321", "9007199254740993",
		"9223372036854775807", "9223372036854775808", "-9223372036854775809"}
	suffixes := []string{"", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e0", "e3", "E6", "e-3", "e1", "e-10",
		"e+2"}
	texts := []string{"", " ", "1 ", "+", "-", ".", "--1", "1..2", "1.2.3", "1X", "Gi", "1 Gi", "1e", "1ee3", "e3", "1K", "1ki", "1KI", "1mi", "1٣",
		"1e3m", "0x10", "NaN", "inf", "1_000", "1,5", "1i"}
	for _, number := range numbers {
		for _, suffix := range suffixes {
			texts = append(texts, number+suffix)
		}
	}
	for _, text := range texts {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			fmt.Fprintf(out, "q\t%s\terror\n", text)
			continue
		}
		fmt.Fprintf(out, "q\t%s\t%s\t%d\t%d\n", text, canonical(quantity), quantity.Value(), quantity.MilliValue())
	}
	pairs := []string{"0", "0Gi", "0e3", "1", "-1", "1500m", "1.5", "1Ki", "1024", "1000Ki", "1Gi", "1G", "1e3", "1e9", "-512Mi", "1n", "1m", "100u", "3Ti",
		"123456789"}
	for _, first := range pairs {
		for _, second := range pairs {
			a, b := resource.MustParse(first), resource.MustParse(second)
			sum, difference := a.DeepCopy(), a.DeepCopy()
			sum.Add(b)
			difference.Sub(b)
			fmt.Fprintf(out, "p\t%s\t%s\t%d\t%s\t%s\n", first, second, a.Cmp(b), canonical(sum), canonical(difference))
		}
	}
}

func canonical(quantity resource.Quantity) string {
	number, suffix := quantity.CanonicalizeBytes(nil)
	return string(number) + string(suffix)
}

// Which keys and values of labels and annotations apimachinery accepts: "label KEY VALUE true" and "annotation KEY true", with quoted texts.
func labels(out io.Writer) {
	long := func(n int) string { return strings.Repeat("a", n) }
	keys := []string{"", "a", "A_b.c-1", "-a", "a-", "_a", ".a", "a b", "ä", "a/b", "a/", "/a", "/", "a/b/c", "a//b", "example.com/name", "Example.com/name",
		"EXAMPLE.COM/Name", "example..com/a", "-a.com/x", "a-.com/x", "a_b/x", ".com/x", "com./x", "1.2/3", long(63), long(64), "x/" + long(63), "x/" + long(64),
		long(63) + "/x", long(64) + "/x", strings.Repeat(long(49)+".", 5) + "aaa/x", strings.Repeat(long(49)+".", 5) + "aaaa/x", "a/-b", "a/b-", "a\n/b", "a/b\n",
		"\u212aey", "\u212aey/x"}
	values := []string{"", "a", "A_b.c-1", "-a", "a-", ".", "a b", "a/b", "ä", long(63), long(64), "a\n"}
	for _, key := range keys {
		errs := metav1validation.ValidateLabelName(key, field.NewPath("labels"))
		fmt.Fprintf(out, "label-key\t%q\t%t\n", key, len(errs) == 0)
		errs = apivalidation.ValidateAnnotations(map[string]string{key: "x"}, field.NewPath("annotations"))
		fmt.Fprintf(out, "annotation-key\t%q\t%t\n", key, len(errs) == 0)
	}
	for _, value := range values {
		errs := metav1validation.ValidateLabels(map[string]string{"a": value}, field.NewPath("labels"))
		fmt.Fprintf(out, "label-value\t%q\t%t\n", value, len(errs) == 0)
	}
	for _, size := range []int{256*1024 - 1, 256 * 1024} {
		errs := apivalidation.ValidateAnnotations(map[string]string{"a": long(size)}, field.NewPath("annotations"))
		fmt.Fprintf(out, "annotation-size\t%d\t%t\n", size+1, len(errs) == 0)
	}
}
