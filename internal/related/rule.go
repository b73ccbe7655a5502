package related

import (
	"maps"
	"slices"
	"strings"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// nameBy and namespaceBy are who decides on names and namespaces on the service cluster.
	nameBy, namespaceBy naming.Who
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
		r.namespace, r.namespaceBy, err = newLocator(located.Namespace, field.NewPath("object", "namespace"), r.origin)
	}
	if err != nil && spec.Object == nil {
		err = errors.New(former.Replace(err.Error()))
	}
	return r, err
}

// NamespaceBy returns who decides on namespaces of the service cluster. Without a rule of their own they are those of
// copies.
func (r *Rule) NamespaceBy() naming.Who { return r.namespaceBy }

// A locator finds names at the origin, and makes those of the copies.
type locator interface {
	locate(o v1alpha1.Origin, v View, find finder) ([]pairing, error)
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
