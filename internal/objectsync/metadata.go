package objectsync

import (
	"maps"
	"slices"
	"strings"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ErrCredential means that a Secret would give its consumer a say in the service cluster.
var ErrCredential = errors.New("its type or an annotation makes it a token for a cluster, which is not copied")

// lastApplied is what kubectl notes on objects.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// private are the domains whose labels and annotations belong to those who keep one side, and never pass to the other.
var private = []string{"crossplane.io", "kcp.io"}

// passes reports whether a label or annotation is copied.
func passes(key string) bool {
	domain, _, ok := strings.Cut(key, "/")
	if !ok {
		return true
	}
	for _, p := range private {
		if domain == p || strings.HasSuffix(domain, "."+p) {
			return false
		}
	}
	return key != lastApplied
}

// passing returns the labels or annotations that are copied, as JSON has them. Nil if there are none.
func passing(all map[string]string) map[string]any {
	var out map[string]any
	for k, v := range all {
		if !passes(k) {
			continue
		}
		if out == nil {
			out = map[string]any{}
		}
		out[k] = v
	}
	return out
}

// empowering are the types of Secrets that a cluster fills with tokens or takes for some.
var empowering = []string{string(corev1.SecretTypeServiceAccountToken), string(corev1.SecretTypeBootstrapToken)}

// empowers reports whether the content of a Secret makes it a credential of the cluster it is in, or asks for one.
func empowers(content map[string]any) bool {
	kind, _ := content["type"].(string)
	account := asMap(asMap(content["metadata"])["annotations"])[corev1.ServiceAccountNameKey]
	return slices.Contains(empowering, kind) || account != nil
}

// content returns what of an object is copied: its labels and annotations that pass, and all its other fields but its
// identity and, where that is a subresource, its status. It shares values with the object.
func content(u *unstructured.Unstructured, hasStatus bool) map[string]any {
	out := make(map[string]any, len(u.Object))
	for field, v := range u.Object {
		if v != nil {
			out[field] = v
		}
	}
	for _, field := range []string{"apiVersion", "kind", "metadata"} {
		delete(out, field)
	}
	if hasStatus {
		delete(out, statusField)
	}
	metadata := map[string]any{}
	if l := passing(u.GetLabels()); l != nil {
		metadata["labels"] = l
	}
	if a := passing(u.GetAnnotations()); a != nil {
		metadata["annotations"] = a
	}
	if len(metadata) > 0 {
		out["metadata"] = metadata
	}
	return out
}

// changed returns the JSON merge patch that makes one content of another, nil if they are the same. Labels and
// annotations go by their names, also the last of them: a copy has others.
func changed(from, to map[string]any) map[string]any {
	metadata := map[string]any{}
	for field := range asMap(from["metadata"]) {
		metadata[field] = map[string]any{}
	}
	maps.Copy(metadata, asMap(to["metadata"]))
	if len(metadata) > 0 {
		to = maps.Clone(to)
		to["metadata"] = metadata
	}
	return diff(from, to)
}
