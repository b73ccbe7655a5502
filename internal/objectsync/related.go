package objectsync

import (
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/jsonpath"
	"github.com/crossplane-contrib/provider-kcp/internal/mutation"
	"github.com/crossplane-contrib/provider-kcp/internal/provenance"
)

// A related is a related resource of a PublishedResource, compiled. The published API itself is one without an
// identifier and with no need to be located.
type related struct {
	Pair

	identifier string
	origin     v1alpha1.Origin
	cleanup    bool
	syncStatus bool
	mutations  *mutation.Mutations
	platform   platformFields

	object    *locator
	namespace *locator // nil for that of the primary
	mayName   v1alpha1.ConsumerMayName
}

// origins returns the API at the origin, and copies that of the copies.
func (r *related) origins() Resource {
	if r.origin == v1alpha1.OriginService {
		return r.Service
	}
	return r.Workspace
}

func (r *related) copies() Resource {
	if r.origin == v1alpha1.OriginService {
		return r.Workspace
	}
	return r.Service
}

// relates reports whether a record may be of this related resource, as far as the APIs tell.
func (r *related) relates(x Record) bool {
	return r.origin == x.Origin && r.origins().GroupResource() == x.From.GVR().GroupResource() &&
		r.copies().GroupResource() == x.To.GVR().GroupResource()
}

// served returns a record in the versions in which its APIs are related by now. One of an API that is not any more
// stays as it is.
func (s *Syncer) served(r Record) Record {
	for _, x := range s.related {
		if x.relates(r) {
			r.From.Version, r.To.Version = x.origins().Version, x.copies().Version
		}
	}
	return r
}

func newRelated(spec *v1alpha1.RelatedResource, pair Pair) (*related, error) {
	r := &related{
		Pair: pair, identifier: spec.Name(), origin: spec.Origin, cleanup: spec.Cleanup, syncStatus: spec.SyncStatus,
		platform: newPlatformFields(pair.PlatformFields),
	}
	if spec.ConsumerMayName != nil {
		r.mayName = *spec.ConsumerMayName
	}
	var err error
	if r.mutations, err = mutation.New(spec.Mutation); err != nil {
		return nil, err
	}
	located := spec.Located()
	if r.object, err = newLocator(&located.RelatedResourceObjectSpec); err != nil {
		return nil, errors.Wrap(err, "object")
	}
	if located.Namespace == nil {
		return r, nil
	}
	r.namespace, err = newLocator(located.Namespace)
	return r, errors.Wrap(err, "object.namespace")
}

// A locator finds names of one side, and makes those of the other, in one of three ways.
type locator struct {
	reference *reference
	template  *template
	selector  *selector
}

// A reference is a field that holds names.
type reference struct {
	path  jsonpath.Path
	regex *regex // nil for names as they are
}

// A selector is a label selector with templates, and what makes names of the names it finds: a regular expression or a
// template.
type selector struct {
	matchLabels []labelTemplate
	expressions []metav1.LabelSelectorRequirement
	regex       *regex
	template    *template
}

// A labelTemplate is a pair of matchLabels.
type labelTemplate struct{ key, value *template }

// A template makes a text, and tells who decides on it.
type template struct {
	*gotemplate.Template

	origin *provenance.Template
}

func newTemplate(text string) (*template, error) {
	t, err := gotemplate.Parse(text)
	return &template{t, provenance.Parse(text)}, err
}

// A regex changes a text. The pattern and the replacement are as they are in the spec.
type regex struct {
	jsonpath.Replacement

	pattern, replacement string
}

// newRegex compiles a regular expression, nil for none.
func newRegex(r *v1alpha1.RegularExpression) (*regex, error) {
	if r == nil {
		return nil, nil //nolint:nilnil // None is none.
	}
	by, err := jsonpath.NewReplacement(r.Pattern, r.Replacement)
	return &regex{by, r.Pattern, r.Replacement}, err
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
		l.template, err = newTemplate(spec.Template.Template)
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
		k, err := newTemplate(key)
		if err != nil {
			return nil, err
		}
		v, err := newTemplate(value)
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
	s.template, err = newTemplate(spec.Rewrite.Template.Template)
	return s, err
}
