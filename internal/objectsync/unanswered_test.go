package objectsync_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// unseen returns the input while its watch of copies lags behind.
func unseen(in objectsync.Input) objectsync.Input {
	in.Service = blindTo(in.Service, things.Service.GroupVersionResource, nil)
	return in
}

// TestMovedBeforeSeen shows that a copy whose creation was not answered, and that the watch does not show yet, is not
// made once more by a rule for names that has changed meanwhile, nor left behind when its object is deleted.
func TestMovedBeforeSeen(t *testing.T) {
	w, below := withoutServers(t)
	named := func(name string) *objectsync.Syncer {
		return w.syncer(&v1alpha1.PublishedResourceSpec{Naming: &v1alpha1.ResourceNaming{Name: name}})
	}
	enter(w.input, map[string]any{"size": "L"})
	if _, err := named("before").Sync(t.Context(), w.input); err != nil {
		t.Fatal(err)
	}
	if err := w.resync(named("after"), unseen(w.input)); err != nil {
		t.Error(err)
	}
	all := below.all[things.Service.GroupVersionResource]
	if u := all[types.NamespacedName{Namespace: w.cluster, Name: "before"}]; u == nil || len(all) != 1 {
		t.Errorf("want the one copy, got %v", all)
	}
	workspaceOf(w.input).end(things.Workspace.GroupVersionResource, w.input.Object)
	if err := w.resync(named("after"), unseen(w.input)); !apierrors.IsConflict(err) {
		t.Errorf("want it to wait for the watch, got %v", err)
	}
	w.remove(named("after"), w.input)
	if len(all) != 0 {
		t.Errorf("want the copy gone, got %v", all)
	}
}
