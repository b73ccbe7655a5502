package clusters

import (
	"context"
	"fmt"
	"slices"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// purposeNamespace is the namespace of an owner, whose labels ClusterProviderConfigs select.
const purposeNamespace informer.Purpose = "namespace"

// notAllowedError means that a ClusterProviderConfig does not allow the namespace of an owner, or that this is not
// known.
type notAllowedError struct {
	config, namespace string
	unknown           error // why it is not known, nil if it is
}

// Error says what to ask the operator for.
func (e notAllowedError) Error() string {
	if e.unknown != nil {
		return fmt.Sprintf("ClusterProviderConfig %q does not allow namespace %q as long as it is unknown whether "+
			"spec.allowedNamespaces selects it: tell the operator: %v", e.config, e.namespace, e.unknown)
	}
	return fmt.Sprintf("ClusterProviderConfig %q does not allow namespace %q: ask the operator to list the namespace "+
		"or one of its labels in spec.allowedNamespaces", e.config, e.namespace)
}

// IsNamespaceNotAllowed reports whether an error means that a ClusterProviderConfig does not allow the namespace of an
// owner, or that nobody knows whether it does.
func IsNamespaceNotAllowed(err error) bool { return errors.As(err, &notAllowedError{}) }

// admitNamespace returns an error if a ClusterProviderConfig does not allow the namespace of an owner. It is the one
// check of that: all connections come from here. The owner is woken when the labels of the namespace change.
func (o Options) admitNamespace(ctx context.Context, local *Cluster, by informer.Owner, c commonv1.Connection) error {
	selectors, err := o.admitName(by.Namespace, c.Shared)
	if len(selectors) == 0 {
		local.watches.Track(by, purposeNamespace)
		return err
	}
	i := informer.Interest{
		Resource: namespaces, NamespacedName: types.NamespacedName{Name: by.Namespace}, Stream: informer.StreamByName,
	}
	local.watches.Track(by, purposeNamespace, i)
	// It is not asked for where it cannot be watched: nobody would notice that a label goes.
	namespace, err := local.watches.Get(ctx, by, i)
	switch {
	case informer.IsNotSynced(err):
		return err
	case err != nil:
		return notAllowedError{config: c.Shared.Name, namespace: by.Namespace, unknown: err}
	case namespace != nil && slices.ContainsFunc(selectors, func(s labels.Selector) bool {
		return s.Matches(labels.Set(namespace.GetLabels()))
	}):
		return nil
	}
	return notAllowedError{config: c.Shared.Name, namespace: by.Namespace}
}

// admitName decides by the name of an owner's namespace, as far as that is enough. If not, it returns the selectors
// that decide. An owner without a namespace is the operator's.
func (o Options) admitName(namespace string, s *commonv1.Sharing) ([]labels.Selector, error) {
	if s == nil || s.Allowed == nil && !o.RestrictClusterConfigs {
		return nil, nil
	}
	selectors, err := selectorsOf(s.Allowed)
	switch named := names(s.Allowed, namespace); {
	case err != nil && namespace == "":
		return nil, invalidConnectionError{err}
	case namespace == "" || named:
		return nil, nil
	case err != nil || len(selectors) == 0:
		return nil, notAllowedError{config: s.Name, namespace: namespace, unknown: err}
	}
	return selectors, nil
}

// selectorsOf returns the label selectors of a list. The error names the entry that cannot be parsed.
func selectorsOf(allowed []commonv1.AllowedNamespaces) ([]labels.Selector, error) {
	var all []labels.Selector
	for n, a := range allowed {
		if a.Selector == nil {
			continue
		}
		s, err := metav1.LabelSelectorAsSelector(a.Selector)
		if err != nil {
			return nil, errors.Wrapf(err, "cannot parse spec.allowedNamespaces[%d].selector", n)
		}
		all = append(all, s)
	}
	return all, nil
}

func names(allowed []commonv1.AllowedNamespaces, namespace string) bool {
	return slices.ContainsFunc(allowed, func(a commonv1.AllowedNamespaces) bool {
		return slices.Contains(a.Names, namespace)
	})
}
