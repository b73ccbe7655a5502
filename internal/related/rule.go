package related

import (
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/jsonpath"
	"github.com/crossplane-contrib/provider-kcp/internal/naming"
)

// A Rule finds the related objects of a related resource, and names their copies.
type Rule struct {
	origin          v1alpha1.Origin
	needsNamespaces [2]bool // at the origin and of the copies
	object          *locator
	namespace       *locator // nil for that of the consumer's object
	mayName         v1alpha1.ConsumerMayName
	// nameBy and namespaceBy are who decides on names and namespaces on the service cluster.
	nameBy, namespaceBy naming.Who
}

// New compiles a rule for objects that have these scopes in the workspace and on the service cluster.
func New(spec *v1alpha1.RelatedResource, workspace, service v1alpha1.ResourceScope) (*Rule, error) {
	r := &Rule{origin: spec.Origin}
	r.needsNamespaces = [2]bool{workspace == v1alpha1.ScopeNamespaced, service == v1alpha1.ScopeNamespaced}
	if r.origin == v1alpha1.OriginService {
		r.needsNamespaces[0], r.needsNamespaces[1] = r.needsNamespaces[1], r.needsNamespaces[0]
	}
	if spec.ConsumerMayName != nil {
		r.mayName = *spec.ConsumerMayName
	}
	located := spec.Located()
	var err error
	if r.object, err = newLocator(&located.RelatedResourceObjectSpec); err != nil {
		return nil, errors.Wrap(err, "object")
	}
	r.nameBy = whoNames(&located.RelatedResourceObjectSpec, r.origin)
	if located.Namespace == nil {
		return r, nil
	}
	r.namespaceBy = whoNames(located.Namespace, r.origin)
	r.namespace, err = newLocator(located.Namespace)
	return r, errors.Wrap(err, "object.namespace")
}

// A locator finds names of one side, and makes those of the other, in one of three ways.
type locator struct {
	reference *reference
	template  *gotemplate.Template
	selector  *selector
}

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
}

// A labelTemplate is a pair of matchLabels.
type labelTemplate struct{ key, value *gotemplate.Template }

// newRegex compiles a regular expression, nil for none.
func newRegex(r *v1alpha1.RegularExpression) (*jsonpath.Replacement, error) {
	if r == nil {
		return nil, nil //nolint:nilnil // None is none.
	}
	by, err := jsonpath.NewReplacement(r.Pattern, r.Replacement)
	return &by, err
}

func newLocator(spec *v1alpha1.RelatedResourceObjectSpec) (l *locator, err error) {
	l = &locator{}
	switch {
	case spec.Reference != nil:
		l.reference = &reference{}
		if l.reference.path, err = jsonpath.Parse(string(spec.Reference.Path)); err != nil {
			return nil, err
		}
		l.reference.regex, err = newRegex(spec.Reference.Regex)
	case spec.Template != nil:
		l.template, err = gotemplate.Parse(spec.Template.Template)
	case spec.Selector != nil:
		l.selector, err = newSelector(spec.Selector)
	default:
		err = errors.New("exactly one of selector, reference and template must be set")
	}
	return l, err
}

func newSelector(spec *v1alpha1.RelatedResourceSelector) (*selector, error) {
	s := &selector{expressions: spec.MatchExpressions}
	for key, value := range spec.MatchLabels {
		k, err := gotemplate.Parse(key)
		if err != nil {
			return nil, err
		}
		v, err := gotemplate.Parse(value)
		if err != nil {
			return nil, err
		}
		s.matchLabels = append(s.matchLabels, labelTemplate{k, v})
	}
	if _, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: s.expressions}); err != nil {
		return nil, err
	}
	var err error
	if s.regex, err = newRegex(spec.Rewrite.Regex); err != nil || s.regex != nil {
		return s, err
	}
	if spec.Rewrite.Template == nil {
		return nil, errors.New("rewrite needs regex or template")
	}
	s.template, err = gotemplate.Parse(spec.Rewrite.Template.Template)
	return s, err
}

// whoNames returns who decides on the names on the service cluster that a rule yields.
func whoNames(spec *v1alpha1.RelatedResourceObjectSpec, origin v1alpha1.Origin) naming.Who {
	switch {
	case spec.Template != nil:
		return naming.OfTemplate(spec.Template.Template, string(v1alpha1.OriginService))
	case spec.Reference != nil:
		return whoRewrites(spec.Reference.Regex)
	case spec.Selector == nil:
	case origin == v1alpha1.OriginService:
		return whoSelects(spec.Selector.MatchLabels)
	case spec.Selector.Rewrite.Template != nil:
		return naming.OfTemplate(spec.Selector.Rewrite.Template.Template, "")
	default:
		return whoRewrites(spec.Selector.Rewrite.Regex)
	}
	return naming.Consumer
}

// whoRewrites returns who decides on what a regular expression makes of a value: the owner if nothing of it is left.
func whoRewrites(r *v1alpha1.RegularExpression) naming.Who {
	if r != nil && r.Pattern == "" {
		return naming.Owner
	}
	return naming.Consumer
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
