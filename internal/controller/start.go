package controller

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	syncagentv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

const (
	// lookFirst and lookMost bound the pause between two looks for missing kinds, which doubles each time: those that
	// are installed with the provider are found soon.
	lookFirst = 100 * time.Millisecond
	lookMost  = time.Minute
)

type kinds = []schema.GroupVersionKind

// A part is controllers that can work as soon as the control plane serves some kinds.
type part struct {
	kinds kinds
	count kinds        // those whose resources are counted by state
	index func() error // nil if nothing but the controllers themselves needs an index
	setup func() error
}

// A starter sets parts up, each once its kinds are served. With Crossplane's safe start a kind is not until somebody
// wants it.
type starter struct {
	manager ctrl.Manager
	log     logging.Logger
	count   func(schema.GroupVersionKind) error // adds the metrics of a kind
	owned   func(client.Object) bool            // reports whether a resource is this replica's

	followed map[schema.GroupVersionKind]bool
}

// start sets up the parts whose kinds are served now, and those of other kinds later, when they are. Nothing looks for
// kinds if all are served.
func (s *starter) start(parts []part) error {
	s.followed = map[schema.GroupVersionKind]bool{}
	missing, err := s.setUp(parts)
	if err != nil || len(missing) == 0 {
		return err
	}
	s.logMissing(missing)
	return errors.Wrap(s.manager.Add(s.await(missing)), "cannot wait for kinds that are not served yet")
}

// logMissing logs which kinds are waited for. A part with one of them does nothing yet.
func (s *starter) logMissing(missing []part) {
	var names []string
	for _, p := range missing {
		for _, k := range p.kinds {
			if served, err := s.served(part{kinds: []schema.GroupVersionKind{k}}); err == nil && !served {
				names = append(names, k.GroupKind().String())
			}
		}
	}
	slices.Sort(names)
	s.log.Info("Kinds are not served yet: install or activate them", "kinds", slices.Compact(names))
}

// setUp sets up the parts whose kinds are served, and returns the others. No controller works before all kinds are
// indexed.
func (s *starter) setUp(parts []part) (missing []part, err error) {
	var served []part
	for _, p := range parts {
		is, err := s.served(p)
		if err == nil && is && p.index != nil {
			err = p.index()
		}
		if err != nil {
			return nil, err
		}
		if is {
			served = append(served, p)
		} else {
			missing = append(missing, p)
		}
	}
	for _, p := range served {
		if err := s.begin(p); err != nil {
			return nil, err
		}
	}
	return missing, nil
}

// begin sets up a part, and the metrics and logs of its kinds.
func (s *starter) begin(p part) error {
	if err := p.setup(); err != nil {
		return err
	}
	for _, k := range p.count {
		if err := s.count(k); err != nil {
			return err
		}
	}
	for _, k := range p.kinds {
		if err := s.follow(k); err != nil {
			return err
		}
	}
	return nil
}

// follow starts the informer of a kind, so that a replica that waits for the Lease has what it needs when it leads, and
// logs which resources of the kind fail. The controllers start informers too, but not before they lead.
//
// Their sources could be started early as well (EnableWarmup). This was rejected: their handlers would remember objects
// that vanish, which the leader finishes with, and finish with them again.
func (s *starter) follow(k schema.GroupVersionKind) error {
	if s.followed[k] {
		return nil // A kind belongs to several parts.
	}
	s.followed[k] = true
	i, err := s.manager.GetCache().GetInformerForKind(context.Background(), k, cache.BlockUntilSynced(false))
	if err == nil {
		_, err = i.AddEventHandler(failureLog(s.log, k.GroupKind(), func(o client.Object) bool {
			select {
			case <-s.manager.Elected():
				return s.owned(o)
			default:
				return false
			}
		}))
	}
	return errors.Wrapf(err, "cannot watch %s", k.Kind)
}

// served reports whether the control plane serves all kinds of a part.
func (s *starter) served(p part) (bool, error) {
	for _, k := range p.kinds {
		_, err := s.manager.GetRESTMapper().RESTMapping(k.GroupKind(), k.Version)
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		if err != nil {
			return false, errors.Wrapf(err, "cannot find out whether %s is served", k)
		}
	}
	return true, nil
}

// await looks for missing kinds, and sets up their parts, until none is missing. If it cannot, the provider ends, as it
// would have done at its start.
func (s *starter) await(missing []part) manager.Runnable {
	return manager.RunnableFunc(func(ctx context.Context) error {
		pauses := wait.Backoff{Duration: lookFirst, Factor: 2, Steps: math.MaxInt, Cap: lookMost}
		err := pauses.DelayFunc().Until(ctx, true, true, func(context.Context) (bool, error) {
			var err error
			missing, err = s.setUp(missing)
			return len(missing) == 0, err
		})
		if ctx.Err() != nil {
			return nil //nolint:nilerr // The provider ends.
		}
		return errors.Wrap(err, "cannot set up controllers of kinds that were missing")
	})
}

// loggedConditions are the types of conditions whose failures are logged.
var loggedConditions = []xpv2.ConditionType{
	xpv2.TypeSynced, xpv2.TypeReady, syncagentv1alpha1.TypeSchemaPublished, syncagentv1alpha1.TypeExportUpdated,
	syncagentv1alpha1.TypeEndpointsReady, syncagentv1alpha1.TypeClaimsAccepted,
}

// expectedReasons are reasons for which a condition is False on the way, or because somebody wants it.
var expectedReasons = []xpv2.ConditionReason{
	xpv2.ReasonReconcilePaused, xpv2.ReasonCreating, xpv2.ReasonDeleting, xpv2.ReasonUnavailable,
	syncagentv1alpha1.ReasonNotPublished, syncagentv1alpha1.ReasonNotUpdated,
}

// isFailure reports whether a condition means that somebody may have to act.
func isFailure(c xpv2.Condition) bool {
	return c.Status == corev1.ConditionFalse && !slices.Contains(expectedReasons, c.Reason)
}

// failureLog returns what logs a line for each condition of a resource that turns to a failure or back, as changes of
// resources tell. works reports whether this replica writes the conditions of a resource; else another one logs them.
func failureLog(log logging.Logger, kind schema.GroupKind, works func(client.Object) bool,
) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(old, now any) {
		was, ok := old.(managedadapter.Conditioned)
		is, same := now.(managedadapter.Conditioned)
		if !ok || !same || was.GetUID() != is.GetUID() || !works(is) {
			return
		}
		for _, t := range loggedConditions {
			before, after := was.GetCondition(t), is.GetCondition(t)
			if isFailure(before) == isFailure(after) {
				continue
			}
			message := "Condition no longer fails"
			if isFailure(after) {
				message = "Condition has failed"
			}
			ref := scope.RefOf(is)
			log.Info(message, "kind", kind.String(), "namespace", is.GetNamespace(), "name", is.GetName(),
				"providerConfig", strings.Trim(ref.Kind+"/"+ref.Name, "/"), "condition", string(t),
				"reason", string(after.Reason), "message", after.Message)
		}
	}}
}
