package objectsync

import (
	"strings"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/jsonpath"
	"github.com/crossplane-contrib/provider-kcp/internal/mutation"
	"github.com/crossplane-contrib/provider-kcp/internal/provenance"
)

// A related is a related resource of a PublishedResource, compiled.
type related struct {
	identifier string
	origin     v1alpha1.Origin
	cleanup    bool
	syncStatus bool
	mutations  *mutation.Mutations
	pair       Pair
	platform   platformFields

	object    *locator
	namespace *locator // nil for that of the primary
	mayName   *mayName
}

// origins returns the API at the origin, and copies that of the copies.
func (r *related) origins() Resource {
	if r.origin == v1alpha1.OriginService {
		return r.pair.Service
	}
	return r.pair.Workspace
}

func (r *related) copies() Resource {
	if r.origin == v1alpha1.OriginService {
		return r.pair.Workspace
	}
	return r.pair.Service
}

// served returns a record in the versions in which its APIs are related by now. One of an API that is not any more
// stays as it is.
func (s *Syncer) served(r Record) Record {
	for _, x := range s.related {
		from, to := x.origins(), x.copies()
		if x.origin == r.Origin && from.GroupResource() == r.From.GVR().GroupResource() &&
			to.GroupResource() == r.To.GVR().GroupResource() {
			r.From.Version, r.To.Version = from.Version, to.Version
		}
	}
	return r
}

func newRelated(spec *v1alpha1.RelatedResource, pair Pair) (*related, error) {
	r := &related{
		identifier: spec.Name(), origin: spec.Origin, cleanup: spec.Cleanup, syncStatus: spec.SyncStatus, pair: pair,
		mayName: newMayName(spec.ConsumerMayName), platform: newPlatformFields(pair.PlatformFields),
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
	template  *gotemplate.Template
	origin    *provenance.Template // of the template
	selector  *selector
}

// A reference is a field that holds names.
type reference struct {
	path     jsonpath.Path
	regex    *jsonpath.Replacement
	replaced *replaced // nil without a regex
}

// A selector is a label selector with templates, and what makes names of the names it finds.
type selector struct {
	matchLabels []labelTemplate
	expressions []metav1.LabelSelectorRequirement
	regex       *jsonpath.Replacement
	replaced    *replaced // nil without a regex
	template    *gotemplate.Template
	origin      *provenance.Template // of the template
}

// A labelTemplate is a pair of matchLabels. What is no template is a text.
type labelTemplate struct{ key, value text }

// A text is a text or a template for one.
type text struct {
	plain    string
	template *gotemplate.Template
	origin   *provenance.Template // of the template, nil for a text
}

func newText(s string) (text, error) {
	if !strings.Contains(s, "{{") {
		return text{plain: s}, nil
	}
	t, err := gotemplate.Parse(s)
	return text{template: t, origin: provenance.Parse(s)}, err
}

func (t text) render(data map[string]any) (string, error) {
	if t.template == nil {
		return t.plain, nil
	}
	return t.template.Render(data)
}

func newLocator(spec *v1alpha1.RelatedResourceObjectSpec) (*locator, error) {
	l := &locator{}
	switch {
	case spec.Reference != nil:
		p, err := jsonpath.Parse(string(spec.Reference.Path))
		if err != nil {
			return nil, err
		}
		regex, err := newRegex(spec.Reference.Regex)
		l.reference = &reference{path: p, regex: regex, replaced: newReplaced(spec.Reference.Regex)}
		return l, err
	case spec.Template != nil:
		t, err := gotemplate.Parse(spec.Template.Template)
		l.template, l.origin = t, provenance.Parse(spec.Template.Template)
		return l, err
	case spec.Selector != nil:
		s, err := newSelector(spec.Selector)
		l.selector = s
		return l, err
	}
	return nil, errors.New("exactly one of selector, reference and template must be set")
}

func newRegex(r *v1alpha1.RegularExpression) (*jsonpath.Replacement, error) {
	if r == nil {
		return nil, nil //nolint:nilnil // None is none.
	}
	out, err := jsonpath.NewReplacement(r.Pattern, r.Replacement)
	return &out, err
}

func newReplaced(r *v1alpha1.RegularExpression) *replaced {
	if r == nil {
		return nil
	}
	return &replaced{pattern: r.Pattern, replacement: r.Replacement}
}

func newSelector(spec *v1alpha1.RelatedResourceSelector) (*selector, error) {
	s := &selector{expressions: spec.MatchExpressions, replaced: newReplaced(spec.Rewrite.Regex)}
	for key, value := range spec.MatchLabels {
		k, err := newText(key)
		if err != nil {
			return nil, err
		}
		v, err := newText(value)
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
	s.origin = provenance.Parse(spec.Rewrite.Template.Template)
	s.template, err = gotemplate.Parse(spec.Rewrite.Template.Template)
	return s, err
}
