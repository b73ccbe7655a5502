package objectsync

import (
	"maps"
	"strings"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

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
