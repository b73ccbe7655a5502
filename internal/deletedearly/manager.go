package deletedearly

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/pkg/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// reasonAwaiting is the reason of events about objects that wait for the end of a lost one.
const reasonAwaiting event.Reason = "WaitingForPredecessor"

// Options of a Manager.
type Options struct {
	// Finalizer is the one by which the controller keeps its objects.
	Finalizer string
	// Owns reports whether an object is the controller's, and not one that another provider reconciles. Nil means that
	// all are.
	Owns func(client.Object) bool
	// Log tells of lost objects.
	Log logging.Logger
	// Record tells of objects that have to wait for them.
	Record event.Recorder
}

// A Manager is a manager whose client shows lost objects, for the reconciler of one kind.
type Manager struct {
	manager.Manager

	options Options
	client  deletedClient
}

// NewManager returns a Manager that knows of no lost object.
func NewManager(m manager.Manager, o Options) Manager {
	return Manager{
		Manager: m, options: o, client: deletedClient{Client: m.GetClient(), objects: newObjects(o.Finalizer)},
	}
}

// GetClient returns a client that shows lost objects.
func (m Manager) GetClient() client.Client { return m.client }

func (m Manager) owns(o client.Object) bool { return m.options.Owns == nil || m.options.Owns(o) }

// Handler hears of the deletion of objects of the kind. Those that are lost are reconciled.
func (m Manager) Handler() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e ctrlevent.CreateEvent, _ queue) {
			if m.client.objects.isAwaited(e.Object) {
				m.options.Record.Event(e.Object, event.Warning(reasonAwaiting,
					errors.New("waiting for an earlier object of this name, which is gone, to be finished with")))
			}
		},
		DeleteFunc: func(_ context.Context, e ctrlevent.DeleteEvent, q queue) {
			if e.DeleteStateUnknown || !m.owns(e.Object) || !m.client.objects.add(e.Object, q) {
				return
			}
			m.options.Log.Debug("Finishing with an object that has gone in spite of its finalizer",
				"namespace", e.Object.GetNamespace(), "name", e.Object.GetName(), "uid", e.Object.GetUID())
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
		},
	}
}
