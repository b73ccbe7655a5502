package naming

import (
	"strings"

	"github.com/kcp-dev/logicalcluster/v3"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
)

// ErrInvalidName is the cause of errors that a rule has yielded what is no name.
var ErrInvalidName = errors.New("name is invalid")

// A Source is an object of a consumer.
type Source struct {
	// Cluster is the name of the logical cluster, and Path the path of the workspace, if it is known.
	Cluster, Path string
	// Object is not changed.
	Object *unstructured.Unstructured
}

// Data returns what templates of names see.
func (s Source) Data() map[string]any {
	return map[string]any{
		"Object": s.Object.Object, "ClusterName": s.Cluster, "ClusterPath": logicalcluster.NewPath(s.Path),
	}
}

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
	n := &Namer{namespaced: scope == v1alpha1.ScopeNamespaced}
	var err error
	if n.name, err = newRule("spec.naming.name", rules.Name); err != nil {
		return nil, err
	}
	if n.namespace, err = newRule("spec.naming.namespace", rules.Namespace); err != nil {
		return nil, err
	}
	return n, nil
}

// Name returns the name and namespace of the copy of an object. The cause of an error is ErrInvalidName or one of
// package gotemplate.
func (n *Namer) Name(s Source) (types.NamespacedName, error) {
	name, err := n.name.apply(s, n.defaultName, validation.IsDNS1123Subdomain)
	if err != nil || !n.namespaced {
		return types.NamespacedName{Name: name}, err
	}
	namespace, err := n.namespace.apply(s, func(s Source) string { return s.Cluster }, validation.IsDNS1123Label)
	if err != nil {
		return types.NamespacedName{}, err
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

func (n *Namer) defaultName(s Source) string {
	var parts []string
	if !n.namespaced {
		parts = append(parts, s.Cluster)
	}
	if ns := s.Object.GetNamespace(); ns != "" {
		parts = append(parts, gotemplate.ShortSHA3(ns))
	}
	return strings.Join(append(parts, gotemplate.ShortSHA3(s.Object.GetName())), "-")
}

// A rule is one rule of names: a template, a text with placeholders, or none.
type rule struct {
	field    string
	text     string
	template *gotemplate.Template
}

func newRule(field, text string) (*rule, error) {
	r := &rule{field: field, text: text}
	if !strings.Contains(text, "{{") {
		return r, nil
	}
	t, err := gotemplate.Parse(text)
	r.template = t
	return r, errors.Wrap(err, field)
}

// apply returns what the rule yields for an object, the default without a rule, if there are no reasons against it. The
// consumer knows parts of what an error quotes anyway.
func (r *rule) apply(s Source, otherwise func(Source) string, against func(string) []string) (name string, err error) {
	switch {
	case r.template != nil:
		if name, err = r.template.Render(s.Data()); err != nil {
			return "", errors.Wrap(err, r.field)
		}
	case r.text != "":
		name = replacePlaceholders(r.text, s)
	default:
		name = otherwise(s)
	}
	if why := against(name); len(why) > 0 {
		return "", errors.Wrapf(ErrInvalidName, "%s yields %q, which is no name: %s", r.field, clip(name), why[0])
	}
	return name, nil
}

// clip cuts a name that is too long for a message.
func clip(name string) string {
	const most = 100
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "..."
}
