package publication

import (
	"encoding/base64"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// sharedSecret is a Secret of the service cluster that objects of several PublishedResources may refer to.
var sharedSecret = objectsync.Ref{
	Version: "v1", Resource: "secrets", Kind: "Secret", Namespace: "kube-system", Name: "web-tls",
}

// holding returns what an object has of the shared Secret.
func holding(p objectsync.Primary) objectsync.Holding {
	to := sharedSecret
	to.Namespace = "default"
	return objectsync.Holding{
		Primary: p, Record: objectsync.Record{Identifier: "tls", Origin: v1alpha1.OriginService, From: sharedSecret, To: to},
	}
}

// openHolders returns what a publication of a PublishedResource shares.
func openHolders(s *shared, name string) *holders {
	h := &holders{shared: s, name: name}
	h.open()
	return h
}

// users returns the workspaces of those who have the shared Secret.
func users(h *holders) set[string] {
	out := set[string]{}
	for _, x := range h.Holdings("", sharedSecret) {
		out[x.Primary.Cluster] = struct{}{}
	}
	return out
}

// TestLedger shows that a publication knows what objects of others are related to, as long as those run, and not those
// of a publication that it takes over from.
func TestLedger(t *testing.T) {
	one, two := newShared(), newShared()
	a, b, next, elsewhere := openHolders(one, "a"), openHolders(one, "b"), openHolders(one, "a"), openHolders(two, "a")
	a.set(in("victim", "web"), []objectsync.Holding{holding(in("victim", "web"))})
	b.add(in("thief", "web"), []objectsync.Holding{holding(in("thief", "web"))})
	both, thief := set[string]{"victim": {}, "thief": {}}, set[string]{"thief": {}}
	for name, tc := range map[string]struct {
		reason string
		of     *holders
		want   set[string]
	}{
		"Own":    {reason: "A publication knows its own objects and those of others.", of: a, want: both},
		"Others": {reason: "So does the other one.", of: b, want: both},
		"Next": {
			reason: "One that takes over goes by the states, not by what the last one knows.",
			of:     next,
			want:   thief,
		},
		"Elsewhere": {
			reason: "Another service cluster has other Secrets of these names.",
			of:     elsewhere,
			want:   set[string]{},
		},
	} {
		if diff := cmp.Diff(tc.want, users(tc.of)); diff != "" {
			t.Errorf("%s: %s\n-want, +got:\n%s", name, tc.reason, diff)
		}
	}
	b.Drop(holding(in("thief", "web")))
	a.close()
	if diff := cmp.Diff(set[string]{}, users(b)); diff != "" {
		t.Errorf("after one has been dropped and the other closed: -want, +got:\n%s", diff)
	}
}

// TestLedgerOfStates shows that states speak for objects whose PublishedResource is not served yet, until they are
// gone.
func TestLedgerOfStates(t *testing.T) {
	l := newShared()
	b := openHolders(l, "b")
	const records = `[{"identifier":"tls","origin":"service","from":{"version":"v1","resource":"secrets",` +
		`"kind":"Secret","namespace":"kube-system","name":"web-tls"},` +
		`"to":{"version":"v1","resource":"secrets","kind":"Secret","namespace":"default","name":"web-tls"}}]`
	n := types.NamespacedName{Namespace: "states", Name: "obj-state-victim-0"}
	state := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{
			"namespace": n.Namespace, "name": n.Name, "labels": map[string]any{objectsync.LabelCluster: "victim"},
		},
		"data": map[string]any{"related": base64.StdEncoding.EncodeToString([]byte(records))},
	}}
	want := holding(objectsync.Primary{Cluster: "victim"})
	want.State, want.Kept = n, true
	l.note(n, func(types.NamespacedName) *unstructured.Unstructured { return state })
	if diff := cmp.Diff([]objectsync.Holding{want}, b.Holdings("", sharedSecret)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	l.note(n, func(types.NamespacedName) *unstructured.Unstructured { return nil })
	if got := b.Holdings("", sharedSecret); len(got) != 0 {
		t.Errorf("after the state is gone: got %v", got)
	}
}

// stateOfWeb returns the state of an object of a workspace whose copy is in the namespace of that name.
func stateOfWeb(p *publication, cluster string) *unstructured.Unstructured {
	n := p.worker.syncer.StateOf(web(cluster))
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{
			"namespace": n.Namespace, "name": n.Name, "resourceVersion": "2",
			"labels": map[string]any{objectsync.LabelState: "true", objectsync.LabelCluster: cluster},
		},
		"data": map[string]any{"copy": base64.StdEncoding.EncodeToString(
			[]byte(`{"namespace":"` + cluster + `","name":"web"}`))},
	}}
}

// TestHoldingsOfVersions shows that who has an object is known to those who know it in another version.
func TestHoldingsOfVersions(t *testing.T) {
	l := newShared()
	a, b := openHolders(l, "a"), openHolders(l, "b")
	h := holding(in("victim", "web"))
	h.From.Version, h.To.Version = "v1beta1", "v1beta1"
	a.set(h.Primary, []objectsync.Holding{h})
	if diff := cmp.Diff([]objectsync.Holding{h}, b.Holdings("", sharedSecret)); diff != "" {
		t.Errorf("of the object: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]objectsync.Holding{h}, b.Holdings("victim", holding(h.Primary).To)); diff != "" {
		t.Errorf("of the copy: -want, +got:\n%s", diff)
	}
}

// TestHasOthers shows that each publication knows whether a namespace has copies of other workspaces alone, by whatever
// publication, and that who labels an object there as a copy of its own has none.
func TestHasOthers(t *testing.T) {
	forged := copyOfWebIn("thief").(map[string]any)
	maps.Copy(forged["metadata"].(map[string]any), map[string]any{"namespace": "victim", "name": "forged"})
	s := &server{copies: []any{copyOfWebIn("victim"), forged}}
	p, _ := newThings(t, s)
	open(t, p)
	other := &holders{shared: p.worker.config.shared, name: "other"}
	for namespace, want := range map[string]bool{"victim": true, "free": false} {
		if got, err := other.HasOthers(namespace, "thief"); got != want || err != nil {
			t.Errorf("namespace %s: want %t, got %t, %v", namespace, want, got, err)
		}
	}
	p.worker.streams.states.Put(stateOfWeb(p, "victim"))
	if got, err := other.HasOthers("victim", "victim"); got || err != nil {
		t.Errorf("want none but its own for whom a state has the copy there, got %t, %v", got, err)
	}
}
