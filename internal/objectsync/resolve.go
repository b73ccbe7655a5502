package objectsync

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/kcp-dev/logicalcluster/v3"
	"github.com/pkg/errors"
	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/mutation"
	"github.com/crossplane-contrib/provider-kcp/internal/provenance"
)

// RelatedMax is how many related objects one object may refer to by one rule.
const RelatedMax = 1000

// NamespacesMax is how many namespaces of the service cluster are looked at for the objects of one workspace, beside
// those of its copies.
const NamespacesMax = 100

// Causes of errors of related resources.
var (
	// ErrTooManyNamespaces means that the objects of a workspace refer to related objects in more than NamespacesMax
	// namespaces.
	ErrTooManyNamespaces = errors.Errorf(
		"objects of the workspace refer to related objects in more than %d namespaces of the service cluster",
		NamespacesMax)
	// ErrNoNamespace means that a primary without a namespace does not tell the namespaces of its related objects.
	ErrNoNamespace = errors.New("the object or its copy has no namespace: set object.namespace of the related resource")
	// ErrUneven means that a reference yields more names on one side than on the other.
	ErrUneven = errors.New("the reference yields more names in the workspace than on the service cluster, or fewer")
	// ErrTooMany means that an object refers to more related objects than RelatedMax.
	ErrTooMany = errors.Errorf("one related resource selects more than %d objects", RelatedMax)
	// ErrInvalidName means that a rule for related objects yields what is no name.
	ErrInvalidName = errors.New("name of a related object is invalid")
)

// unresolvable reports whether an error means that a primary names related objects by what cannot be a name, so that
// there are none.
func unresolvable(err error) bool {
	return errors.Is(err, ErrNoNamespace) || errors.Is(err, ErrUneven) || errors.Is(err, ErrInvalidName) ||
		errors.Is(err, ErrTooMany)
}

// noValue is what a template writes for a missing value.
const noValue = "<no value>"

// primaries are both sides of an object: that of the workspace, and its copy as it is or will be.
type primaries struct {
	cluster, path      string
	workspace, service *unstructured.Unstructured

	// mutations are those of the spec, and target the copy as they see it. Without it nobody asks who decides on names.
	mutations *mutation.Mutations
	target    *unstructured.Unstructured
	// copyName and copyNamespace tell who decides on those of the copy.
	copyName, copyNamespace provenance.Value
}

func (p *pass) primaries() primaries {
	return primaries{cluster: p.id.Cluster, path: p.Workspace.Path, workspace: p.source, service: p.copied}
}

// at returns the object of the origin, and the other one.
func (p primaries) at(o v1alpha1.Origin) (origin, other *unstructured.Unstructured) {
	if o == v1alpha1.OriginService {
		return p.service, p.workspace
	}
	return p.workspace, p.service
}

func (p primaries) data() map[string]any {
	return map[string]any{"ClusterName": p.cluster, "ClusterPath": logicalcluster.NewPath(p.path)}
}

// A pairing is a name at the origin, and the one of the copy.
type pairing struct {
	from, to string
	// below tells who decides on the name on the service cluster.
	below provenance.Value
}

// resolve returns which objects are related to a primary, in order. What is not there yet is left out. Caches are those
// of the origin. Check is asked before objects of a namespace are selected.
func (r *related) resolve(p primaries, caches Side, check func(namespace string) error) ([]relation, error) {
	namespaces, err := r.namespaces(p, caches)
	if err != nil {
		return nil, err
	}
	var out []relation
	for _, ns := range namespaces {
		names, err := r.object.locate(r.origin, p, func(s labels.Selector) ([]*unstructured.Unstructured, error) {
			at := r.origins().ref(types.NamespacedName{Namespace: ns.from})
			if err := check(at.Namespace); err != nil {
				return nil, err
			}
			return caches.Cache(at.GVR()).Select(at.Namespace, s)
		})
		if err != nil {
			return nil, err
		}
		if len(out)+len(names) > RelatedMax {
			return nil, ErrTooMany
		}
		for _, n := range names {
			if err := checkNames(n, ns); err != nil {
				return nil, err
			}
			out = append(out, relation{
				related: r,
				from:    r.origins().ref(types.NamespacedName{Namespace: ns.from, Name: n.from}),
				to:      r.copies().ref(types.NamespacedName{Namespace: ns.to, Name: n.to}),
				at:      located{name: n.below, namespace: ns.below},
			})
		}
	}
	slices.SortFunc(out, func(a, b relation) int {
		return cmp.Or(strings.Compare(a.from.Namespace, b.from.Namespace), strings.Compare(a.from.Name, b.from.Name))
	})
	return slices.Compact(out), nil
}

func checkNames(name, namespace pairing) error {
	for _, n := range []string{name.from, name.to} {
		if why := validation.IsDNS1123Subdomain(n); len(why) > 0 {
			return errors.Wrap(ErrInvalidName, why[0])
		}
	}
	for _, n := range []string{namespace.from, namespace.to} {
		if why := validation.IsDNS1123Label(n); n != "" && len(why) > 0 {
			return errors.Wrap(ErrInvalidName, why[0])
		}
	}
	return nil
}

// namespaces returns the namespaces in which related objects are looked for.
func (r *related) namespaces(p primaries, caches Side) ([]pairing, error) {
	if r.namespace != nil {
		return r.namespace.locate(r.origin, p, func(s labels.Selector) ([]*unstructured.Unstructured, error) {
			return caches.Cache(Namespaces).Select("", s)
		})
	}
	origin, other := p.at(r.origin)
	ns := pairing{from: origin.GetNamespace(), to: other.GetNamespace(), below: p.copyNamespace}
	needed := r.origins().Scope == v1alpha1.ScopeNamespaced && ns.from == "" ||
		r.copies().Scope == v1alpha1.ScopeNamespaced && ns.to == ""
	if needed {
		return nil, ErrNoNamespace
	}
	return []pairing{ns}, nil
}

type finder func(s labels.Selector) ([]*unstructured.Unstructured, error)

// locate returns names of both sides.
func (l *locator) locate(o v1alpha1.Origin, p primaries, find finder) ([]pairing, error) {
	switch {
	case l.reference != nil:
		return l.reference.locate(o, p)
	case l.template != nil:
		return l.render(o, p)
	}
	return l.selector.locate(o, p, find)
}

func (r *reference) locate(o v1alpha1.Origin, p primaries) ([]pairing, error) {
	origin, other := p.at(o)
	from, err := r.names(origin)
	if err != nil {
		return nil, err
	}
	to, err := r.names(other)
	if err != nil || len(from) == 0 || len(to) == 0 {
		return nil, err
	}
	if len(from) != len(to) {
		return nil, ErrUneven
	}
	below := to
	if o == v1alpha1.OriginService {
		below = from
	}
	by, err := r.provenance(p, below)
	var out []pairing
	for i := range from {
		if from[i] != "" && to[i] != "" {
			out = append(out, pairing{from: from[i], to: to[i], below: by[i]})
		}
	}
	return out, err
}

// names returns the names that the field of an object holds, none if it is missing.
func (r *reference) names(u *unstructured.Unstructured) ([]string, error) {
	b, err := json.Marshal(u.Object)
	if err != nil {
		return nil, errors.New("the object cannot be encoded")
	}
	values := r.path.Get(b).Array()
	if len(values) > RelatedMax {
		return nil, ErrTooMany
	}
	var names []string
	for _, v := range values {
		var name string
		switch v.Type {
		case gjson.String:
			name = v.Str
		case gjson.Number:
			name = v.Raw
		case gjson.Null:
		case gjson.True, gjson.False, gjson.JSON:
			return nil, errors.Wrap(ErrInvalidName, "the reference selects what is neither a text nor a number")
		}
		if r.regex != nil && name != "" {
			if name, err = r.regex.Apply(name); err != nil {
				return nil, err
			}
		}
		names = append(names, name)
	}
	return names, nil
}

// render returns the names that a template yields on both sides.
func (l *locator) render(o v1alpha1.Origin, p primaries) ([]pairing, error) {
	on := func(side v1alpha1.Origin, u *unstructured.Unstructured) (string, error) {
		data := p.data()
		data["Side"], data["Object"] = string(side), u.Object
		name, err := l.template.Render(data)
		if strings.Contains(name, noValue) {
			return "", err
		}
		return name, err
	}
	service, err := on(v1alpha1.OriginService, p.service)
	if err != nil {
		return nil, err
	}
	workspace, err := on(v1alpha1.OriginKCP, p.workspace)
	if err != nil || service == "" || workspace == "" {
		return nil, err
	}
	by := l.template.origin.Value(p.context())
	if o == v1alpha1.OriginService {
		return []pairing{{from: service, to: workspace, below: by}}, nil
	}
	return []pairing{{from: workspace, to: service, below: by}}, nil
}

// locate returns the names of the objects that are selected, and what is made of them.
func (s *selector) locate(o v1alpha1.Origin, p primaries, find finder) ([]pairing, error) {
	data := p.data()
	data["LocalObject"], data["RemoteObject"] = p.service.Object, p.workspace.Object
	selects, err := s.render(data)
	if err != nil {
		return nil, err
	}
	if selects == nil {
		return nil, nil
	}
	found, err := find(selects)
	if err != nil {
		return nil, err
	}
	by := s.rewritten(p.context())
	if o == v1alpha1.OriginService {
		by = s.provenance(p.context())
	}
	var out []pairing
	for _, u := range found {
		to, err := s.rewrite(u, data)
		if err != nil {
			return nil, err
		}
		out = append(out, pairing{from: u.GetName(), to: to, below: by})
	}
	return out, nil
}

// render returns the selector of one primary, nil if a value of it is missing. The shared selector stays as it is.
func (s *selector) render(data map[string]any) (labels.Selector, error) {
	own := &metav1.LabelSelector{MatchExpressions: s.expressions, MatchLabels: map[string]string{}}
	for _, l := range s.matchLabels {
		key, err := l.key.Render(data)
		if err != nil {
			return nil, err
		}
		value, err := l.value.Render(data)
		if err != nil {
			return nil, err
		}
		if strings.Contains(key+value, noValue) {
			return nil, nil //nolint:nilnil // There is no selector yet.
		}
		own.MatchLabels[key] = value
	}
	out, err := metav1.LabelSelectorAsSelector(own)
	if err != nil {
		return nil, errors.Wrap(ErrInvalidName, "the selector has what is no label") // The cause quotes it.
	}
	return out, nil
}

func (s *selector) rewrite(u *unstructured.Unstructured, data map[string]any) (string, error) {
	if s.regex != nil {
		return s.regex.Apply(u.GetName())
	}
	own := map[string]any{"Value": u.GetName(), "Name": u.GetName(), "RelatedObject": u.Object}
	maps.Copy(own, data)
	return s.template.Render(own)
}
