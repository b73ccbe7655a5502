package objectsync

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/mutation"
)

// given returns what of both sides of an object its consumer has no say in. The name of the copy is such if it tells whose it is.
func (p primaries) given() (workspace, service map[string]any) {
	metadata := map[string]any{"namespace": p.service.GetNamespace(), "uid": string(p.service.GetUID())}
	if p.telling() {
		metadata["name"] = p.service.GetName()
	}
	workspace = map[string]any{"metadata": map[string]any{"uid": string(p.workspace.GetUID())}}
	return workspace, map[string]any{"metadata": metadata}
}

// telling says whether the name of the copy tells whose it is, by a hash of the name of the object or by the logical cluster. Of any other
// one the consumer may have chosen all that matters, as names in a workspace and its namespaces are free.
func (p primaries) telling() bool {
	name, of := p.service.GetName(), p.workspace.GetName()
	return strings.Contains(name, gotemplate.ShortSHA3(of)) || strings.Contains(name, gotemplate.ShortSHA1(of)) || hasCluster(name, p.cluster)
}

// heeds says whether a template yields a name of the service cluster only because of what the consumer has put into the object.
func (l *locator) heeds(p primaries, name string) bool {
	data := p.data()
	_, service := p.given()
	data["Side"], data["Object"] = string(v1alpha1.OriginService), service
	is, err := l.template.Render(data)
	return err != nil || is != name
}

// heeds says whether a selector selects what it does only because of what the consumer has put into the object.
func (s *selector) heeds(p primaries, selects labels.Selector) bool {
	data := p.data()
	data["RemoteObject"], data["LocalObject"] = p.given()
	is, err := s.render(data)
	return err != nil || is == nil || is.String() != selects.String()
}

// heed marks which of the objects of the service cluster that a reference names the consumer has a say in.
func (r *reference) heed(all []pairing, o v1alpha1.Origin, p primaries) ([]pairing, error) {
	if o == v1alpha1.OriginKCP || p.target == nil || !slices.ContainsFunc(all, func(n pairing) bool { return !n.chosen }) {
		return all, nil
	}
	heeded, err := r.heeded(p)
	for i := range all {
		all[i].chosen = all[i].chosen || heeded[all[i].from]
	}
	return all, err
}

// heeded returns the names that mutation makes of what the consumer has put into the object: those that are others if all of that is.
func (r *reference) heeded(p primaries) (map[string]bool, error) {
	made, err := r.mutated(p.mutations, p.workspace, p.target)
	if err != nil {
		return nil, err
	}
	workspace, service := p.given()
	others, err := r.mutated(p.mutations, probed(p.workspace, workspace), probed(p.target, service))
	out := map[string]bool{}
	for i, name := range made {
		if err != nil || len(others) != len(made) || others[i] != name {
			out[name] = true
		}
	}
	return out, nil
}

// mutated returns the names in what mutation makes of an object of the workspace, with the identity of the copy.
func (r *reference) mutated(m *mutation.Mutations, workspace, service *unstructured.Unstructured) ([]string, error) {
	u, err := m.Spec(workspace, service)
	if err != nil {
		return nil, err
	}
	return r.names(&unstructured.Unstructured{Object: merged(u.Object, map[string]any{"metadata": map[string]any{
		"name": service.GetName(), "namespace": service.GetNamespace(), "uid": string(service.GetUID()),
	}})})
}

// probed returns an object with everything in it replaced but what is given.
func probed(u *unstructured.Unstructured, given map[string]any) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: merged(asMap(another(u.Object)), given)}
	out.SetGroupVersionKind(u.GroupVersionKind())
	return out
}

// another returns a JSON value of the same form with another text for each text, of which no letter and no digit is the same, another number
// for each number, and so on: whatever is made of a part of it is made of another part then.
func another(v any) any {
	switch x := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(x))
		for field, inner := range x {
			out[field] = another(inner)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, inner := range x {
			out[i] = another(inner)
		}
		return out
	case string:
		return strings.Map(next, x)
	case int64:
		return x + 1
	case float64:
		return x + 1
	case bool:
		return !x
	}
	return v
}

// next returns the next letter of the alphabet, or digit, and after the last one the first.
func next(r rune) rune {
	switch {
	case 'a' <= r && r < 'z', 'A' <= r && r < 'Z', '0' <= r && r < '9':
		return r + 1
	case r == 'z', r == 'Z':
		return r - 'z' + 'a'
	case r == '9':
		return '0'
	}
	return r
}
