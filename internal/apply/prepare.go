package apply

import (
	"encoding/base64"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ofServer are the fields of metadata that only a server sets.
var ofServer = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields",
	"resourceVersion", "selfLink", "uid",
}

// Prepare makes of a manifest, in place, what is applied of it, so that each apply, hash and preview sees the same.
// What a server moves is where the server has it. What only a server sets is left out, as of a manifest that was copied
// from a live resource, and the status with it. It returns the paths of what is left out.
func Prepare(manifest *unstructured.Unstructured) (leftOut []string) {
	encodeStringData(manifest)
	metadata, _ := manifest.Object["metadata"].(map[string]any)
	for _, field := range ofServer {
		if metadata[field] != nil {
			leftOut = append(leftOut, "metadata."+field)
		}
		delete(metadata, field) // kubectl create --dry-run prints a creationTimestamp that is null.
	}
	if _, ok := manifest.Object["status"]; ok && len(leftOut) > 0 {
		delete(manifest.Object, "status")
		leftOut = append(leftOut, "status")
	}
	return leftOut
}

// encodeStringData does to a Secret what a server does: stringData becomes data. What is no text is left for the server
// to refuse.
func encodeStringData(u *unstructured.Unstructured) {
	if u.GetAPIVersion() != "v1" || u.GetKind() != "Secret" {
		return
	}
	plain, ok := u.Object["stringData"].(map[string]any)
	if !ok {
		return
	}
	data, _ := u.Object["data"].(map[string]any)
	data, rest := maps.Clone(data), map[string]any{}
	if data == nil {
		data = map[string]any{}
	}
	for k, v := range plain {
		text, ok := v.(string)
		if !ok && v != nil {
			rest[k] = v
			continue
		}
		data[k] = base64.StdEncoding.EncodeToString([]byte(text)) // What is null is empty to a server.
	}
	for field, content := range map[string]map[string]any{"data": data, "stringData": rest} {
		if delete(u.Object, field); len(content) > 0 {
			u.Object[field] = content
		}
	}
}
