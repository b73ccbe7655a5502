package related

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
)

// Max is how many related objects one object may refer to by one rule.
const Max = 1000

// Causes of errors of Names.
var (
	// ErrNoNamespace means that an object without a namespace does not tell the namespaces of its related objects.
	ErrNoNamespace = errors.New("the object or its copy has no namespace: set object.namespace of the related resource")
	// ErrTooMany means that an object refers to more related objects than Max.
	ErrTooMany = errors.Errorf("one related resource selects more than %d objects: select fewer", Max)
	// ErrInvalidName means that a rule yields what is no name.
	ErrInvalidName = errors.New("name of a related object is invalid")
)

// IsUnresolvable reports whether an error means that an object names related objects by what cannot be a name, so that
// there are none.
func IsUnresolvable(err error) bool {
	return errors.Is(err, ErrNoNamespace) || errors.Is(err, ErrInvalidName) || errors.Is(err, ErrTooMany)
}

// noValue is what a template writes for a missing value.
const noValue = "<no value>"

// A View is both sides of a consumer's object: that of the workspace, and its copy as it is or will be. Neither is
// changed.
type View struct {
	In                 gotemplate.Workspace
	Workspace, Service *unstructured.Unstructured

	origin v1alpha1.Origin // of the related objects
}

// sides returns the object of the origin, and the other one.
func (v View) sides() (origin, other *unstructured.Unstructured) {
	if v.origin == v1alpha1.OriginService {
		return v.Service, v.Workspace
	}
	return v.Workspace, v.Service
}

// A Finder finds what selectors select at the origin.
type Finder struct{ Namespaces, Objects Source }

// A Source has objects of one kind.
type Source struct {
	// Select returns the objects of a namespace that a selector selects, perhaps their metadata alone.
	Select func(namespace string, s labels.Selector) ([]*unstructured.Unstructured, error)
	// Read returns one of them with its content.
	Read func(*unstructured.Unstructured) (*unstructured.Unstructured, error)
}

// Names are those of one related object, at the origin and of the copy. Namespaces of what has none are to be ignored.
type Names struct{ From, To types.NamespacedName }

// A pairing is a name at the origin, and the one of the copy.
type pairing struct{ from, to string }

// Names returns the names of the objects that are related to an object, in order and each once. What is not there yet
// is left out.
func (r *Rule) Names(v View, find Finder) ([]Names, error) {
	v.origin = r.origin
	namespaces, err := r.namespaces(v, find)
	if err != nil {
		return nil, err
	}
	var out []Names
	for _, ns := range namespaces {
		names, err := r.object.locate(v, find.Objects, ns.from)
		if err != nil {
			return nil, err
		}
		if len(out)+len(names) > Max {
			return nil, ErrTooMany
		}
		for _, n := range names {
			if err := checkNames(n, ns); err != nil {
				return nil, err
			}
			out = append(out, Names{
				From: types.NamespacedName{Namespace: ns.from, Name: n.from},
				To:   types.NamespacedName{Namespace: ns.to, Name: n.to},
			})
		}
	}
	slices.SortFunc(out, func(a, b Names) int {
		return cmp.Or(strings.Compare(a.From.Namespace, b.From.Namespace), strings.Compare(a.From.Name, b.From.Name))
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
func (r *Rule) namespaces(v View, find Finder) ([]pairing, error) {
	if r.namespace != nil {
		return r.namespace.locate(v, find.Namespaces, "")
	}
	if r.inWorkspace && v.Workspace.GetNamespace() == "" || r.onService && v.Service.GetNamespace() == "" {
		return nil, ErrNoNamespace
	}
	origin, other := v.sides()
	return []pairing{{origin.GetNamespace(), other.GetNamespace()}}, nil
}

func (r reference) locate(v View, _ Source, _ string) ([]pairing, error) {
	origin, other := v.sides()
	from, err := r.names(origin)
	if err != nil {
		return nil, err
	}
	to, err := r.names(other)
	if err != nil || len(from) == 0 || len(to) == 0 {
		return nil, err
	}
	if len(from) != len(to) {
		return nil, errors.Wrap(ErrInvalidName, "the reference finds more names on one side than on the other")
	}
	var out []pairing
	for i := range from {
		if from[i] != "" && to[i] != "" {
			out = append(out, pairing{from[i], to[i]})
		}
	}
	return out, nil
}

// names returns the names that the field of an object holds, none if it is missing.
func (r reference) names(u *unstructured.Unstructured) ([]string, error) {
	b, err := json.Marshal(u.Object)
	if err != nil {
		return nil, errors.New("the object cannot be encoded")
	}
	values := r.path.Get(b).Array()
	if len(values) > Max {
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
			return nil, errors.Wrap(ErrInvalidName, "the reference selects a value that is neither a string nor a number")
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

func (r rendering) locate(v View, _ Source, _ string) ([]pairing, error) {
	on := func(side v1alpha1.Origin, u *unstructured.Unstructured) (string, error) {
		data := v.In.Data()
		data["Side"], data["Object"] = string(side), u.Object
		name, err := r.template.Render(data)
		if strings.Contains(name, noValue) {
			return "", err
		}
		return name, err
	}
	service, err := on(v1alpha1.OriginService, v.Service)
	if err != nil {
		return nil, err
	}
	workspace, err := on(v1alpha1.OriginKCP, v.Workspace)
	if err != nil || service == "" || workspace == "" {
		return nil, err
	}
	if v.origin == v1alpha1.OriginService {
		return []pairing{{from: service, to: workspace}}, nil
	}
	return []pairing{{from: workspace, to: service}}, nil
}

// locate returns the names of the objects that are selected, and what is made of them.
func (s selector) locate(v View, find Source, namespace string) ([]pairing, error) {
	data := v.In.Data()
	data["LocalObject"], data["RemoteObject"] = v.Service.Object, v.Workspace.Object
	selects, err := s.render(data)
	if err != nil {
		return nil, err
	}
	if selects == nil {
		return nil, nil
	}
	found, err := find.Select(namespace, selects)
	if err != nil {
		return nil, err
	}
	var out []pairing
	for _, u := range found {
		if s.reads {
			if u, err = find.Read(u); err != nil {
				return nil, err
			}
		}
		to, err := s.rewrite(u, data)
		if err != nil {
			return nil, err
		}
		out = append(out, pairing{u.GetName(), to})
	}
	return out, nil
}

// render returns the selector of one object, nil if a value of it is missing. The shared selector stays as it is.
func (s selector) render(data map[string]any) (labels.Selector, error) {
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
		return nil, errors.Wrap(ErrInvalidName, "the selector has an invalid label") // The cause quotes it.
	}
	return out, nil
}

func (s selector) rewrite(u *unstructured.Unstructured, data map[string]any) (string, error) {
	if s.regex != nil {
		return s.regex.Apply(u.GetName())
	}
	own := map[string]any{"Value": u.GetName(), "Name": u.GetName(), "RelatedObject": u.Object}
	maps.Copy(own, data)
	return s.template.Render(own)
}
