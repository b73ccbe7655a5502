package controller

import (
	"github.com/pkg/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/application"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/applicationresource"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/object"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

// workloads are the controllers of KubernetesApplications and of their resources.
func workloads(mgr ctrl.Manager, o object.Options) part {
	kinds := append(configKinds(scope.NamespacedScopeConfigs()...),
		workloadv1alpha1.ApplicationGroupVersionKind, workloadv1alpha1.ResourceGroupVersionKind)
	return part{kinds: kinds, setup: func() error {
		if err := application.Setup(mgr, o.OfFew()); err != nil {
			return errors.Wrap(err, "cannot set up applications")
		}
		return errors.Wrap(applicationresource.Setup(mgr, o.Options), "cannot set up resources of applications")
	}}
}
