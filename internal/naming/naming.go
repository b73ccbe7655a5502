package naming

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
)

// ErrInvalidName is the cause of errors that a rule has yielded what is no name.
var ErrInvalidName = errors.New("name is invalid")

// The default rules. A copy without a namespace begins with the name of the logical cluster.
const (
	defaultName = "{{ with .Object.metadata.namespace }}{{ sha3short . }}-{{ end }}" +
		"{{ sha3short .Object.metadata.name }}"
	defaultNamespace = "{{ .ClusterName }}"
)

// A Namer names copies.
type Namer struct {
	name, namespace *rule
	namespaced      bool
}

// New returns a Namer with rules. Nil and empty rules are the defaults. Scope is that of the copies. The cause
// of an error is gotemplate.ErrInvalid.
func New(rules *v1alpha1.ResourceNaming, scope v1alpha1.ResourceScope) (*Namer, error) {
	if rules == nil {
		rules = &v1alpha1.ResourceNaming{}
	}
	n, byDefault := &Namer{namespaced: scope == v1alpha1.ScopeNamespaced}, defaultName
	if !n.namespaced {
		byDefault = defaultNamespace + "-" + defaultName
	}
	var err error
	if n.name, err = newRule("spec.naming.name", cmp.Or(rules.Name, byDefault)); err != nil {
		return nil, err
	}
	n.namespace, err = newRule("spec.naming.namespace", cmp.Or(rules.Namespace, defaultNamespace))
	return n, err
}

// Name returns the name and namespace of the copy of an object, which it does not change. The cause of an error is
// ErrInvalidName or one of package gotemplate.
func (n *Namer) Name(in gotemplate.Workspace, object *unstructured.Unstructured) (types.NamespacedName, error) {
	data := in.Data()
	data["Object"] = object.Object
	name, err := n.name.apply(data, validation.IsDNS1123Subdomain)
	if err != nil || !n.namespaced {
		return types.NamespacedName{Name: name}, err
	}
	namespace, err := n.namespace.apply(data, validation.IsDNS1123Label)
	if err != nil {
		return types.NamespacedName{}, err
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// placeholders are those of api-syncagent, and what they are in a template. Of those that begin alike, the longer
// stands first.
var placeholders = strings.NewReplacer(
	"$remoteClusterName", "{{ .ClusterName }}",
	"$remoteNamespaceHash", "{{ shortHash .Object.metadata.namespace }}",
	"$remoteNamespace", "{{ with .Object.metadata.namespace }}{{ . }}{{ end }}",
	"$remoteNameHash", "{{ shortHash .Object.metadata.name }}",
	"$remoteName", "{{ .Object.metadata.name }}",
)

// A rule is one rule of names.
type rule struct {
	field    string
	template *gotemplate.Template
	by       Who
}

// newRule compiles a template, or else a text with placeholders.
func newRule(field, text string) (*rule, error) {
	if !strings.Contains(text, "{{") {
		text = placeholders.Replace(text)
	}
	t, err := gotemplate.Parse(text)
	return &rule{field, t, OfTemplate(text, "")}, errors.Wrap(err, field)
}

// apply returns what the rule yields if there are no reasons against it. The consumer knows parts of what an error
// quotes anyway.
func (r *rule) apply(data map[string]any, against func(string) []string) (string, error) {
	name, err := r.template.Render(data)
	if err != nil {
		return "", errors.Wrap(err, r.field)
	}
	if why := against(name); len(why) > 0 {
		return "", errors.Wrapf(ErrInvalidName, "%s returns %.100q, which is not a valid name: %s", r.field, name, why[0])
	}
	return name, nil
}

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
		return n.name.by, n.namespace.by
	}
	return n.name.by, Consumer
}

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
	// No name of a logical cluster has one of these characters, so that what follows cannot be taken for a part of it.
	rest, ok := nodes[1].(*parse.TextNode)
	if ok && (len(nodes) == 2 || bytes.IndexAny(rest.Text, "-.") == 0) {
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
