package objectsync

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// agentsKey is where api-syncagent remembers object web of namespace default in cluster1.
const agentsKey = "d5251a1f794dd6c030f8b61940523cc2ffba7fe5"

func subjectNamed(kind, name string) subject {
	return subject{
		NamespacedName: types.NamespacedName{Namespace: "default", Name: name}, cluster: "cluster1",
		kind: schema.GroupKind{Kind: kind},
	}
}

// TestStateIsTheAgents holds the name of the Secret and the keys in it that api-syncagent has. They were computed by
// hand: SHA-1 of the JSON with a newline.
func TestStateIsTheAgents(t *testing.T) {
	i := identity("default", "web")
	if got, want := i.StateName("v1"), "obj-state-cluster1-28b53283e9dc1094cb75"; got != want {
		t.Errorf("name: want %q, got %q", want, got)
	}
	s, _ := readState(nil)
	o := subject{NamespacedName: i.NamespacedName, cluster: "cluster1", kind: i.Kind}
	if err := s.put(o, "example.org/v1",
		map[string]any{
			"spec": map[string]any{"html": "a"}, "metadata": map[string]any{"labels": map[string]any{"a": "b"}},
		}); err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{
		agentsKey: []byte(`{"apiVersion":"example.org/v1","kind":"Thing",` +
			`"metadata":{"labels":{"a":"b"},"name":"web","namespace":"default"},"spec":{"html":"a"}}`),
	}
	if diff := cmp.Diff(want, s.slots); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestStateTellsKindsApart shows that objects of one name and two kinds are both remembered. api-syncagent remembers
// the last of them alone.
func TestStateTellsKindsApart(t *testing.T) {
	s, _ := readState(nil)
	for _, kind := range []string{"Secret", "ConfigMap"} {
		if err := s.put(subjectNamed(kind, "same"), "v1", map[string]any{"kind-was": kind}); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []string{"Secret", "ConfigMap"} {
		got := s.get(subjectNamed(kind, "same"))
		if got == nil || got.Object["kind-was"] != kind || got.GetKind() != kind {
			t.Errorf("%s: got %v", kind, got)
		}
	}
	s.prune(subjectNamed("ConfigMap", "same"))
	if got := s.get(subjectNamed("ConfigMap", "same")); got == nil || len(s.slots) != 1 {
		t.Errorf("after pruning: want the ConfigMap alone, got %v", s.slots)
	}
	if got := s.get(subjectNamed("Secret", "same")); got != nil {
		t.Errorf("after pruning: want no Secret, got %v", got)
	}
}

func TestStateRoundTrip(t *testing.T) {
	s, _ := readState(nil)
	if err := s.put(subjectNamed("Secret", "a"), "v1", map[string]any{"big": int64(9007199254740993)}); err != nil {
		t.Fatal(err)
	}
	s.records = newRecordSet(Record{
		Identifier: "tls", Origin: v1alpha1.OriginService,
		From: Ref{Version: "v1", Resource: "secrets", Kind: "Secret", Namespace: "x", Name: "a"},
	})
	s.pending = newRecordSet(Record{
		Identifier: "next", Origin: v1alpha1.OriginKCP,
		From: Ref{Version: "v1", Resource: "secrets", Kind: "Secret", Namespace: "x", Name: "b"},
	})
	secret, err := s.secret(types.NamespacedName{Namespace: "state", Name: "obj"}, map[string]string{"l": "1"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := readState(secret)
	if err != nil || !got.equal(s) {
		t.Errorf("want the same state, got %v, %v", got, err)
	}
	if v := got.get(subjectNamed("Secret", "a")).Object["big"]; v != int64(9007199254740993) {
		t.Errorf("a whole number has changed: %v", v)
	}
	if diff := cmp.Diff(map[string]string{"l": "1", "syncagent.kcp.io/object-state": "true"},
		secret.GetLabels()); diff != "" {
		t.Errorf("labels: -want, +got:\n%s", diff)
	}
}

func TestStateHasALimit(t *testing.T) {
	s, _ := readState(nil)
	if err := s.put(subjectNamed("Secret", "a"), "v1", map[string]any{"x": strings.Repeat("x", stateMax)}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.secret(types.NamespacedName{}, nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("want ErrTooLarge, got %v", err)
	}
}

func TestReadStateOfDamage(t *testing.T) {
	for name, data := range map[string]any{
		"NoBase64": map[string]any{"a": "%"}, "NoRecords": map[string]any{keyRecords: "eA=="},
		"NoPending": map[string]any{keyPending: "eA=="},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := readState(&unstructured.Unstructured{Object: map[string]any{"data": data}}); err == nil {
				t.Error("want an error")
			}
		})
	}
	s, err := readState(&unstructured.Unstructured{Object: map[string]any{"data": map[string]any{agentsKey: "eA=="}}})
	if u := s.get(subject{NamespacedName: identity("default", "web").NamespacedName, cluster: "cluster1"}); u != nil ||
		err != nil {
		t.Errorf("a slot that cannot be read is unknown: got %v, %v", u, err)
	}
}
