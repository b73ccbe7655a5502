package related

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/jsonpath"
	"github.com/crossplane-contrib/provider-kcp/internal/naming"
)

// A Rule finds the related objects of a related resource, and names their copies.
type Rule struct {
	origin    v1alpha1.Origin
	object    locator
	namespace locator // nil for that of the consumer's object
	mayName   v1alpha1.ConsumerMayName
	// inWorkspace and onService tell on which sides the objects have namespaces.
	inWorkspace, onService bool
	// nameBy and NamespaceBy are who decides on names and namespaces on the service cluster. Without a rule of their own
	// namespaces are those of copies.
	nameBy, NamespaceBy naming.Who
}

// former are the fields of RelatedResourceReference, by what Located makes of them.
var former = strings.NewReplacer(
	"object.namespace.reference", "reference.namespace", "object.reference", "reference.name",
)

// New compiles a rule for objects that have these scopes in the workspace and on the service cluster. An error begins
// with the path of its field below the related resource.
func New(spec *v1alpha1.RelatedResource, workspace, service v1alpha1.ResourceScope) (*Rule, error) {
	r := &Rule{
		origin: spec.Origin, inWorkspace: workspace == v1alpha1.ScopeNamespaced,
		onService: service == v1alpha1.ScopeNamespaced,
	}
	if spec.ConsumerMayName != nil {
		r.mayName = *spec.ConsumerMayName
	}
	located := spec.Located()
	var err error
	r.object, r.nameBy, err = newLocator(&located.RelatedResourceObjectSpec, field.NewPath("object"), r.origin)
	if located.Selector != nil && r.origin == v1alpha1.OriginService && r.nameBy == naming.Workspace {
		r.nameBy = naming.Consumer // Operators pass labels on, so that other workspaces can have any.
	}
	if err == nil && located.Namespace != nil {
		r.namespace, r.NamespaceBy, err = newLocator(located.Namespace, field.NewPath("object", "namespace"), r.origin)
	}
	if err != nil && spec.Object == nil {
		err = errors.New(former.Replace(err.Error()))
	}
	return r, err
}

// A locator finds names at the origin, and makes those of the copies.
type locator interface {
	locate(v View, find Source, namespace string) ([]pairing, error)
}

// A rendering is a template that makes the names of both sides.
type rendering struct{ template *gotemplate.Template }

// A reference is a field that holds names.
type reference struct {
	path  jsonpath.Path
	regex *jsonpath.Replacement // nil for names as they are
}

// A selector is a label selector with templates, and what makes names of the names it finds: a regular expression or a
// template.
type selector struct {
	matchLabels []labelTemplate
	expressions []metav1.LabelSelectorRequirement
	regex       *jsonpath.Replacement
	template    *gotemplate.Template
	reads       bool // The template may see more of the objects than their metadata.
}

// A labelTemplate is a pair of matchLabels.
type labelTemplate struct{ key, value *gotemplate.Template }

// newRegex compiles a regular expression, nil for none, and returns who decides on what it makes of a value: the owner
// if nothing of it is left.
func newRegex(r *v1alpha1.RegularExpression, at *field.Path) (*jsonpath.Replacement, naming.Who, error) {
	if r == nil {
		return nil, naming.Consumer, nil
	}
	who := naming.Consumer
	if r.Pattern == "" {
		who = naming.Owner
	}
	by, err := jsonpath.NewReplacement(r.Pattern, r.Replacement)
	return &by, who, errors.Wrap(err, at.Child("pattern").String())
}

// newLocator compiles what finds names, and returns who decides on those on the service cluster.
func newLocator(spec *v1alpha1.RelatedResourceObjectSpec, at *field.Path, o v1alpha1.Origin,
) (locator, naming.Who, error) {
	switch {
	case spec.Reference != nil:
		path, err := jsonpath.Parse(string(spec.Reference.Path))
		if err != nil {
			return nil, naming.Consumer, errors.Wrap(err, at.Child("reference", "path").String())
		}
		regex, who, err := newRegex(spec.Reference.Regex, at.Child("reference", "regex"))
		return reference{path, regex}, who, err
	case spec.Template != nil:
		t, err := gotemplate.Parse(spec.Template.Template)
		return rendering{t}, naming.OfTemplate(spec.Template.Template, string(v1alpha1.OriginService)),
			errors.Wrap(err, at.Child("template", "template").String())
	case spec.Selector != nil:
		s, who, err := newSelector(spec.Selector, at.Child("selector"))
		if o == v1alpha1.OriginService {
			who = whoSelects(spec.Selector.MatchLabels)
		}
		return s, who, err
	}
	return nil, naming.Consumer, errors.Errorf("%s: exactly one of selector, reference and template must be set", at)
}

// newSelector compiles a selector, and returns who decides on what it makes of the names it finds.
func newSelector(spec *v1alpha1.RelatedResourceSelector, at *field.Path) (s selector, who naming.Who, err error) {
	s.expressions = spec.MatchExpressions
	for _, key := range slices.Sorted(maps.Keys(spec.MatchLabels)) {
		var l labelTemplate
		if l.key, err = gotemplate.Parse(key); err == nil {
			l.value, err = gotemplate.Parse(spec.MatchLabels[key])
		}
		if err != nil {
			return s, who, errors.Wrap(err, at.Child("matchLabels").Key(key).String())
		}
		s.matchLabels = append(s.matchLabels, l)
	}
	if _, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: s.expressions}); err != nil {
		return s, who, errors.Wrap(err, at.Child("matchExpressions").String())
	}
	at = at.Child("rewrite")
	switch {
	case spec.Rewrite.Regex != nil:
		s.regex, who, err = newRegex(spec.Rewrite.Regex, at.Child("regex"))
	case spec.Rewrite.Template != nil:
		s.reads = strings.Contains(spec.Rewrite.Template.Template, "RelatedObject")
		s.template, err = gotemplate.Parse(spec.Rewrite.Template.Template)
		err = errors.Wrap(err, at.Child("template", "template").String())
		who = naming.OfTemplate(spec.Rewrite.Template.Template, "")
	default:
		err = errors.Errorf("%s: exactly one of regex and template must be set", at)
	}
	return s, who, err
}

// whoSelects returns who decides on which objects labels select. One label that no other workspace can have is enough.
func whoSelects(matchLabels map[string]string) naming.Who {
	out := naming.Owner
	for key, value := range matchLabels {
		for _, text := range []string{key, value} {
			switch naming.OfTemplate(text, "") {
			case naming.Workspace:
				return naming.Workspace
			case naming.Consumer:
				out = naming.Consumer
			case naming.Owner:
			}
		}
	}
	return out
}

// A Tenant is the consumer of one object, as far as it matters on the service cluster.
type Tenant struct {
	// Cluster is the name of the logical cluster.
	Cluster string
	// CopyNamespace is that of the copy of the object, empty if it has none, and StateNamespace that of states.
	CopyNamespace, StateNamespace string
	// OwnsCopyNamespace reports whether no other workspace can have objects in the namespace of the copy.
	OwnsCopyNamespace bool
	// HasOthers asks whether a namespace has copies of other workspaces alone.
	HasOthers func(namespace string) (bool, error)
}

// AdmitsNamespace returns why a related object may not be in a namespace of the service cluster, nil if it may. It is
// asked before anything there is read. An error means that it is not known.
func (r *Rule) AdmitsNamespace(t Tenant, namespace string) (refused, err error) {
	switch {
	case namespace == "", namespace == t.CopyNamespace:
		return nil, nil
	case naming.IsSystem(namespace), namespace == t.StateNamespace:
		return errors.Errorf("namespace %s cannot contain related objects", namespace), nil
	case r.NamespaceBy != naming.Consumer:
		return nil, nil
	case !matches(r.mayName.Namespaces, namespace, t.Cluster):
		return errors.Errorf("spec.related[].consumerMayName.namespaces does not allow namespace %s", namespace), nil
	}
	others, err := t.HasOthers(namespace)
	if err == nil && others {
		refused = errors.Errorf("namespace %s has copies of other workspaces", namespace)
	}
	return refused, err
}

// Admits returns why an object of the service cluster may not be a related one, or the copy of one, nil if it may.
// Owned reports whether the copy of the consumer's object owns it. An error means that it is not known.
func (r *Rule) Admits(t Tenant, n types.NamespacedName, owned bool) (refused, err error) {
	if refused, err := r.AdmitsNamespace(t, n.Namespace); refused != nil || err != nil {
		return refused, err
	}
	own := r.NamespaceBy == naming.Workspace || n.Namespace == t.CopyNamespace && t.OwnsCopyNamespace
	if own && n.Namespace != "" || owned || r.nameBy != naming.Consumer || matches(r.mayName.Objects, n.Name, t.Cluster) {
		return nil, nil
	}
	return errors.New("spec.related[].consumerMayName.objects does not allow the object"), nil
}

// Unopened returns the fields of consumerMayName that are empty, and without which objects are refused that the copy
// does not own. Owns reports whether the namespace of a copy is the workspace's own.
func (r *Rule) Unopened(owns bool) []string {
	var out []string
	named := r.namespace != nil && r.NamespaceBy == naming.Consumer
	if named && len(r.mayName.Namespaces) == 0 {
		out = append(out, "namespaces")
	}
	owns = r.NamespaceBy == naming.Workspace || r.namespace == nil && owns
	if r.nameBy == naming.Consumer && !owns && len(r.mayName.Objects) == 0 {
		out = append(out, "objects")
	}
	return out
}

// matches reports whether the service owner has opened a name.
func matches(patterns []v1alpha1.NamePattern, name, cluster string) bool {
	return slices.ContainsFunc(patterns, func(p v1alpha1.NamePattern) bool {
		ok, err := path.Match(strings.ReplaceAll(string(p), "$remoteClusterName", cluster), name)
		return ok && err == nil
	})
}
