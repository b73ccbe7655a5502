package naming

import (
	"regexp"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
)

// Who decides on a name on the service cluster.
type Who int

const (
	// Consumer means that values of the consumer may decide on the name.
	Consumer Who = iota
	// Owner means that the owner of the service decides: the rule is a constant.
	Owner
	// Workspace means that no other workspace can have the name: it begins with that of the logical cluster, behind
	// nothing but a constant.
	Workspace
)

// system are the namespaces of a service cluster that no value of a consumer leads to.
var system = []string{"kube-system", "kube-public", "kube-node-lease"}

// IsSystem reports whether a namespace of the service cluster is of the system.
func IsSystem(namespace string) bool { return slices.Contains(system, namespace) }

// Who returns who decides on names and namespaces of copies. Copies without a namespace are in none of a workspace's
// own: that is the consumer's.
func (n *Namer) Who() (name, namespace Who) {
	if n.namespaced {
		return n.name.who(Consumer), n.namespace.who(Workspace)
	}
	return n.name.who(Workspace), Consumer
}

// who returns who decides on what the rule yields, and another one without a rule.
func (r *rule) who(otherwise Who) Who {
	switch {
	case r.template != nil:
		return OfTemplate(r.text, "")
	case r.text != "":
		return ofPlaceholders(r.text)
	}
	return otherwise
}

// delimiters are characters that no name of a logical cluster has in it.
const delimiters = "-."

// isDelimited reports whether what follows the name of a logical cluster in a text cannot be taken for a part of it.
func isDelimited(rest string) bool { return rest != "" && strings.Contains(delimiters, rest[:1]) }

// OfTemplate returns who decides on what a Go template yields, where field Side has a value. It knows constants,
// constants with {{ .ClusterName }}, and either of them for one side, as {{ if eq .Side "kcp" }}a{{ else }}b{{ end }}.
// All else counts as the consumer's.
func OfTemplate(text, side string) Who {
	t := parse.New("")
	t.Mode = parse.SkipFuncCheck
	if _, err := t.Parse(strings.TrimSpace(text), "", "", map[string]*parse.Tree{}); err != nil {
		return Consumer
	}
	return ofNodes(t.Root, side)
}

func ofNodes(list *parse.ListNode, side string) Who {
	if list == nil || len(list.Nodes) == 0 {
		return Owner
	}
	nodes := list.Nodes
	if n, ok := nodes[0].(*parse.IfNode); ok && len(nodes) == 1 {
		return ofBranch(n, side)
	}
	if _, ok := nodes[0].(*parse.TextNode); ok {
		nodes = nodes[1:]
	}
	if len(nodes) == 0 {
		return Owner
	}
	if nodes[0].String() != "{{.ClusterName}}" {
		return Consumer
	}
	if len(nodes) == 1 {
		return Workspace
	}
	rest, ok := nodes[1].(*parse.TextNode)
	if ok && (len(nodes) == 2 || isDelimited(string(rest.Text))) {
		return Workspace
	}
	return Consumer
}

// ofBranch returns who decides on the branch that is taken on a side.
func ofBranch(n *parse.IfNode, side string) Who {
	switch n.Pipe.String() {
	case `eq .Side "` + side + `"`:
		return ofNodes(n.List, side)
	case `eq .Side "kcp"`, `eq .Side "service"`:
		return ofNodes(n.ElseList, side)
	}
	return Consumer
}

// placeholder finds the placeholders of api-syncagent. Of those that begin alike, the longer stands first.
var placeholder = regexp.MustCompile(`\$remote(ClusterName|NamespaceHash|Namespace|NameHash|Name)`)

// ofPlaceholders returns who decides on a text with placeholders.
func ofPlaceholders(text string) Who {
	before, after, _ := strings.Cut(text, "$remoteClusterName")
	switch {
	case !placeholder.MatchString(text):
		return Owner
	case !placeholder.MatchString(before) && (!placeholder.MatchString(after) || isDelimited(after)):
		return Workspace
	}
	return Consumer
}

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
