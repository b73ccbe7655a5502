package naming

import (
	"regexp"
	"strings"

	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/provenance"
)

// fieldsOfSource tells what the fields are that templates of names see.
func fieldsOfSource(path ...string) provenance.Value {
	switch strings.Join(path, ".") {
	case "ClusterName", "Object.metadata.uid":
		return provenance.Assigned
	}
	return provenance.Entered
}

// Provenance tells who decides on the names and namespaces of copies. Copies without a namespace are in none that is
// anybody's.
func (n *Namer) Provenance() (name, namespace provenance.Value) {
	hash := provenance.Of(provenance.Hashed(provenance.Entered))
	parts := []provenance.Part{hash}
	if !n.namespaced {
		parts = []provenance.Part{provenance.Of(provenance.Assigned), provenance.Text("-"), hash}
	}
	namespace = provenance.Entered
	if n.namespaced {
		namespace = n.namespace.provenance(provenance.Of(provenance.Assigned))
	}
	return n.name.provenance(parts...), namespace
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

// placeholder finds the placeholders of api-syncagent. Of those that begin alike, the longer stands first.
var placeholder = regexp.MustCompile(`\$remote(ClusterName|NamespaceHash|Namespace|NameHash|Name)`)

// replacePlaceholders replaces placeholders. No value is looked at for placeholders again.
func replacePlaceholders(text string, s Source) string {
	namespace, name := s.Object.GetNamespace(), s.Object.GetName()
	values := map[string]string{
		"$remoteClusterName":   s.Cluster,
		"$remoteNamespaceHash": gotemplate.ShortSHA1(namespace), "$remoteNamespace": namespace,
		"$remoteNameHash": gotemplate.ShortSHA1(name), "$remoteName": name,
	}
	return placeholder.ReplaceAllStringFunc(text, func(p string) string { return values[p] })
}

// partsOf splits a text with placeholders.
func partsOf(text string) []provenance.Part {
	var parts []provenance.Part
	end := 0
	for _, at := range placeholder.FindAllStringIndex(text, -1) {
		value := provenance.Entered
		switch p := text[at[0]:at[1]]; {
		case p == "$remoteClusterName":
			value = provenance.Assigned
		case strings.HasSuffix(p, "Hash"):
			value = provenance.Hashed(value)
		}
		parts = append(parts, provenance.Text(text[end:at[0]]), provenance.Of(value))
		end = at[1]
	}
	return append(parts, provenance.Text(text[end:]))
}
