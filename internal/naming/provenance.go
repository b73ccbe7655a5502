package naming

import (
	"strings"

	"github.com/crossplane-contrib/provider-kcp/internal/provenance"
)

// fieldsOfSource tells what the fields are that templates of names see.
func fieldsOfSource(path ...string) provenance.Value {
	switch strings.Join(path, ".") {
	case "ClusterName", "Object.metadata.uid":
		return provenance.Assigned
	case "ClusterPath":
		return provenance.Path
	}
	return provenance.Entered
}

// placeholders are those of api-syncagent. Of two that begin alike the longer one stands first.
var placeholders = []struct {
	text string
	of   provenance.Value
}{
	{"$remoteClusterName", provenance.Assigned},
	{"$remoteNamespaceHash", provenance.Hashed(provenance.Entered)},
	{"$remoteNamespace", provenance.Entered},
	{"$remoteNameHash", provenance.Hashed(provenance.Entered)},
	{"$remoteName", provenance.Entered},
}

// Provenance tells who decides on the names and namespaces of copies.
func (n *Namer) Provenance() (name, namespace provenance.Value) {
	hash := provenance.Of(provenance.Hashed(provenance.Entered))
	parts := []provenance.Part{hash}
	if !n.namespaced {
		parts = []provenance.Part{provenance.Of(provenance.Assigned), provenance.Text("-"), hash}
	}
	return n.name.provenance(parts...), n.namespace.provenance(provenance.Of(provenance.Assigned))
}

// provenance returns that of the rule, or that of the parts of the default.
func (r *rule) provenance(otherwise ...provenance.Part) provenance.Value {
	switch {
	case r.template != nil:
		return provenance.Parse(r.text).Value(provenance.Context{Of: fieldsOfSource})
	case r.text != "":
		return provenance.Join(partsOf(r.text)...)
	}
	return provenance.Join(otherwise...)
}

// partsOf splits a text with placeholders.
func partsOf(text string) []provenance.Part {
	var parts []provenance.Part
next:
	for text != "" {
		for _, p := range placeholders {
			if rest, ok := strings.CutPrefix(text, p.text); ok {
				parts, text = append(parts, provenance.Of(p.of)), rest
				continue next
			}
		}
		end := strings.Index(text[1:], "$") + 1
		if end == 0 {
			end = len(text)
		}
		parts, text = append(parts, provenance.Text(text[:end])), text[end:]
	}
	return parts
}
