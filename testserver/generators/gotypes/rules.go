// Turns declarative validation tags into the rules of server/data/tags.txt.

package main

import (
	"regexp"
	"strings"
)

// Feature gates that are on by default in the version of the modules.
var enabled = map[string]bool{"HPAScaleToZero": true}

// Feature gates of fields that are off by default in that version, as its metric `kubernetes_feature_enabled` says.
var disabled = map[string]bool{
	"AtomicWriteVolumeUserFields": true, "CSIVolumeHealth": true, "CompositePodGroup": true, "ContainerStopSignals": true,
	"CoordinatedLeaderElection": true, "CrossNamespaceVolumeDataSource": true, "DRADerivedAttributes": true,
	"DRADeviceCompatibilityGroups": true, "DRAListTypeAttributes": true, "DRANodeAllocatableResources": true,
	"DRAOptionalNodeOperations": true, "DRAPartitionableDevicesType": true, "DRAWorkloadResourceClaims": true,
	"EmptyDirVolumeMode": true, "EvictionRequestAPI": true, "GRPCContainerProbeTLS": true, "GenericWorkload": true,
	"H2CContainerProbe": true, "ImageVolumeWithDigest": true, "InPlacePodVerticalScalingSchedulerPreemption": true,
	"PodGroupPreemptionPolicy": true, "ShardedListAndWatch": true, "StatefulSetRecreateStrategy": true,
	"TopologyAwareWorkloadScheduling": true, "VolumeBindMountOptions": true, "WorkloadWithJob": true,
}

// Fields of such gates that have no tag, by the struct.
var untagged = map[string]string{"Lifecycle": "StopSignal"}

// Formats by the names that the server has for them.
var formats = map[string]string{
	"k8s-extended-resource-name": "extended-resource-name", "k8s-label-key": "label-key", "k8s-prefixed-label-key": "label-key",
	"k8s-long-name": "subdomain", "k8s-long-name-caseless": "caseless-subdomain", "k8s-short-name": "label", "k8s-uuid": "uuid",
	"k8s-resource-fully-qualified-name": "attribute-name", "k8s-resource-pool-name": "resource-pool-name",
}

var (
	stage     = regexp.MustCompile(`^\+k8s:(alpha|beta)\([^)]*\)=`)
	condition = regexp.MustCompile(`^\+k8s:if(Enabled|Disabled)\("?(\w+)"?\)=`)
	member    = regexp.MustCompile(`^\+k8s:subfield\((\w+)\)=`)
	simple    = regexp.MustCompile(`^\+k8s:(required|forbidden|immutable)$`)
	number    = regexp.MustCompile(`^\+k8s:(maxItems|maxLength|maxBytes)=(\d+)$`)
	bound     = regexp.MustCompile(`^\+k8s:(minimum|maximum)=(-?\d+)$`)
	format    = regexp.MustCompile(`^\+k8s:format="?([a-z0-9-]+)"?$`)
	update    = regexp.MustCompile(`^\+k8s:update=NoModify$`)
)

// rules are lines `FIELD RULE ARGUMENTS` of the tags of one struct, in the order of the fields.
func rules(lines []string) []string {
	var out, union []string
	keys := map[string][]string{}
	custom := map[string]bool{}
	for _, line := range lines {
		field, tag, _ := strings.Cut(line, " ")
		tag = stage.ReplaceAllString(tag, "")
		if key, ok := strings.CutPrefix(tag, "+k8s:listMapKey="); ok {
			keys[field] = append(keys[field], key)
		}
		custom[field] = custom[field] || tag == "+k8s:customUnique"
	}
	for _, line := range lines {
		field, tag, _ := strings.Cut(line, " ")
		// What is not enforced yet.
		if strings.HasPrefix(tag, "+k8s:alpha(") {
			continue
		}
		tag = stage.ReplaceAllString(tag, "")
		if found := condition.FindStringSubmatch(tag); found != nil {
			if (found[1] == "Enabled") != enabled[found[2]] {
				continue
			}
			tag = condition.ReplaceAllString(tag, "")
		}
		if tag == "+k8s:unionMember" {
			union = append(union, field)
			continue
		}
		target := ""
		for prefix, word := range map[string]string{"+k8s:eachVal=": "each ", "+k8s:eachKey=": "key "} {
			if rest, ok := strings.CutPrefix(tag, prefix); ok {
				tag, target = rest, word
			}
		}
		if found := member.FindStringSubmatch(tag); found != nil {
			tag, target = member.ReplaceAllString(tag, ""), "member "+found[1]+" "
		}
		if rule := rule(tag, keys[field], custom[field]); rule != "" {
			out = append(out, field+" "+target+rule)
		}
	}
	if len(union) > 1 {
		out = append(out, ". union "+strings.Join(union, "|"))
	}
	return out
}

func rule(tag string, keys []string, customUnique bool) string {
	if found := simple.FindStringSubmatch(tag); found != nil {
		return found[1]
	}
	if found := number.FindStringSubmatch(tag); found != nil {
		return found[1] + " " + found[2]
	}
	if found := bound.FindStringSubmatch(tag); found != nil {
		return found[1][:3] + " " + found[2]
	}
	if found := format.FindStringSubmatch(tag); found != nil {
		return "format " + formats[found[1]]
	}
	if update.MatchString(tag) {
		return "kept"
	}
	if values, ok := strings.CutPrefix(tag, "values="); ok && values != "" {
		return "enum " + values
	}
	switch {
	case (tag == "+k8s:listType=map" || tag == "+k8s:unique=map") && !customUnique && len(keys) > 0:
		return "keys " + strings.Join(keys, "|")
	case tag == "+k8s:listType=set" || tag == "+k8s:unique=set":
		return "unique"
	}
	return ""
}
