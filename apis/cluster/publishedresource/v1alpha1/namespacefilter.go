package v1alpha1

import (
	"bytes"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// NamespaceFilter selects namespaces by name or by labels. Any JSON decodes into it; Parse says whether it is one
// of the two.
type NamespaceFilter struct {
	// Raw is the JSON as it was written: a text or an object.
	Raw []byte `json:"-"`
}

// A NamespaceSelection is a NamespaceFilter that has been read. Only one of its fields is set.
//
// +kubebuilder:object:generate=false
type NamespaceSelection struct {
	// Name of the one namespace.
	Name string
	// Labels select namespaces.
	Labels labels.Selector
}

// MarshalJSON returns the JSON as it was written.
func (f NamespaceFilter) MarshalJSON() ([]byte, error) {
	if len(f.Raw) == 0 {
		return []byte("null"), nil
	}
	return f.Raw, nil
}

// UnmarshalJSON keeps the JSON. It never fails, so that one wrong filter does not stop the reading of all
// PublishedResources.
func (f *NamespaceFilter) UnmarshalJSON(b []byte) error {
	f.Raw = bytes.Clone(b)
	return nil
}

// Parse reads the filter. It fails if it is neither the name of a namespace nor a label selector. A nil filter selects
// by no name and no labels, which is every namespace.
func (f *NamespaceFilter) Parse() (NamespaceSelection, error) {
	if f == nil || len(f.Raw) == 0 || string(f.Raw) == "null" {
		return NamespaceSelection{}, nil
	}
	var name string
	if json.Unmarshal(f.Raw, &name) == nil {
		if name == "" {
			return NamespaceSelection{}, fmt.Errorf("%s is not the name of a namespace", f.Raw)
		}
		return NamespaceSelection{Name: name}, nil
	}
	selector := &metav1.LabelSelector{}
	d := json.NewDecoder(bytes.NewReader(f.Raw))
	d.DisallowUnknownFields()
	if err := d.Decode(selector); err != nil {
		return NamespaceSelection{}, fmt.Errorf("it is neither a name nor a label selector: %w", err)
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return NamespaceSelection{}, fmt.Errorf("it is not a label selector: %w", err)
	}
	return NamespaceSelection{Labels: s}, nil
}
