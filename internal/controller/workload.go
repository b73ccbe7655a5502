package controller

import (
	"github.com/pkg/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/crossplane-contrib/provider-kcp/internal/controller/application"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/applicationresource"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/object"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/scheduler"
)

// setupWorkloads adds the controllers of KubernetesApplications and of their resources to a manager.
func setupWorkloads(mgr ctrl.Manager, o object.Options) error {
	so := scheduler.Options{Options: o.Options, Registry: o.Registry, PollJitter: o.PollJitter}
	if err := scheduler.Setup(mgr, so); err != nil {
		return errors.Wrap(err, "cannot set up the scheduler of applications")
	}
	if err := application.Setup(mgr, application.Options{Options: o.Options, PollJitter: o.PollJitter}); err != nil {
		return errors.Wrap(err, "cannot set up applications")
	}
	ro := applicationresource.Options{Options: o.Options, Registry: o.Registry, PollJitter: o.PollJitter}
	return errors.Wrap(applicationresource.Setup(mgr, ro), "cannot set up resources of applications")
}
