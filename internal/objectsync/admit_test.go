package objectsync

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

func TestNamespaceOfWorkspace(t *testing.T) {
	hashed := Workspace{Cluster: "2k7x", Path: "root:a"}
	for name, tc := range map[string]struct {
		reason    string
		of        Workspace
		namespace string
		want      bool
	}{
		"Cluster":     {"A namespace can be named like the logical cluster.", hashed, "2k7x", true},
		"Between":     {"There can be something around it.", hashed, "tenant-2k7x-db", true},
		"Longer":      {"The name of another logical cluster can begin like it.", hashed, "2k7xy", false},
		"Inner":       {"Or have it in it.", hashed, "tenant-12k7x", false},
		"Path":        {"A namespace can be named like the path.", hashed, "root-a", true},
		"PathAtEnd":   {"There can be something before it.", hashed, "tenant-root-a", true},
		"LongerPath":  {"Another path can begin like it.", hashed, "root-ab", false},
		"Below":       {"A workspace below is another.", hashed, "tenant-root-a-b", false},
		"ClusterRoot": {"A namespace can be named like the logical cluster root.", Workspace{Cluster: "root", Path: "root"}, "root", true},
		"Root":        {"But the name is a word, with which all paths begin.", Workspace{Cluster: "root", Path: "root"}, "root-a", false},
		"RootAtEnd":   {"It may stand anywhere.", Workspace{Cluster: "root", Path: "root"}, "kafka-root", false},
		"NoPath":      {"A path that is not known is in no name.", Workspace{Cluster: "2k7x"}, "default", false},
		"NoNamespace": {"What has no namespace is in none of a workspace.", Workspace{Cluster: "2k7x"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.of.has(tc.namespace); got != tc.want {
				t.Errorf("%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

// known are holders that do not change.
type known []Holding

// Holdings returns all.
func (k known) Holdings(string, Ref) []Holding { return k }

// Drop does nothing.
func (known) Drop(Holding) {}

// TestShares shows whose copies an object of a workspace may keep in step: those that another object of the workspace keeps, of whatever kind.
func TestShares(t *testing.T) {
	record := Record{Identifier: "tls", Origin: v1alpha1.OriginKCP, From: Ref{Kind: "Secret", Namespace: "default", Name: "a"}, To: Ref{Kind: "Secret", Namespace: "x", Name: "a"}}
	syncer := func(kind string) *Syncer {
		return &Syncer{primary: Pair{Workspace: Resource{Kind: kind}}}
	}
	me := Primary{Cluster: "cluster1"}
	me.Name = "web"
	elsewhere := me
	elsewhere.Cluster = "cluster2"
	of := func(kind string, p Primary, change ...func(h *Holding)) Holding {
		h := Holding{Primary: p, State: syncer(kind).StateOf(p), Record: record, Kept: true}
		for _, f := range change {
			f(&h)
		}
		return h
	}
	for name, tc := range map[string]struct {
		reason string
		h      Holding
		want   bool
	}{
		"Mine":      {"One's own is no other's.", of("Thing", me), false},
		"Kind":      {"An object of another kind may have the same name.", of("Other", me), true},
		"Waits":     {"Who has not copied it has no copy.", of("Other", me, func(h *Holding) { h.Kept = false }), false},
		"Elsewhere": {"Other workspaces are others.", of("Thing", elsewhere), false},
		"StateOnly": {"What is known from a state alone may be one's own.", of("Other", me, func(h *Holding) { h.Primary.Name = "" }), false},
		"OtherCopy": {"Another copy is another.", of("Other", me, func(h *Holding) { h.To.Name = "b" }), false},
		"WayBack":   {"So is a copy that goes the other way.", of("Other", me, func(h *Holding) { h.Origin = v1alpha1.OriginService }), false},
	} {
		t.Run(name, func(t *testing.T) {
			p := &pass{Syncer: syncer("Thing"), Input: Input{Holders: known{tc.h}, Object: me.NamespacedName}, id: Identity{Cluster: me.Cluster}}
			m := relation{related: &related{identifier: "tls", origin: record.Origin}, match: match{from: record.From, to: record.To}}
			if got := p.shares(m); got != tc.want {
				t.Errorf("%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

// TestIsAboutToBeMade shows what the states of others tell of copies that are not there yet: who is about to make one.
func TestIsAboutToBeMade(t *testing.T) {
	record := Record{Identifier: "tls", Origin: v1alpha1.OriginKCP, From: Ref{Kind: "Secret", Version: "v1", Name: "a"}, To: Ref{Kind: "Secret", Version: "v1", Name: "b"}}
	renamed, elsewhere := record, record
	renamed.Identifier, renamed.To.Version = "other", "v2"
	elsewhere.To.Name = "c"
	for name, tc := range map[string]struct {
		reason  string
		state   state
		cluster string
		want    bool
	}{
		"Pending":   {"It is about to be made.", state{pending: []Record{record}}, "cluster1", true},
		"Renamed":   {"Whatever it is called there.", state{pending: []Record{renamed}}, "cluster1", true},
		"Made":      {"It has been made.", state{records: []Record{record}}, "cluster1", false},
		"OtherCopy": {"Another copy is another.", state{pending: []Record{elsewhere}}, "cluster1", false},
		"Elsewhere": {"Other workspaces are others.", state{pending: []Record{record}}, "cluster2", false},
	} {
		t.Run(name, func(t *testing.T) {
			secret, err := tc.state.secret(types.NamespacedName{Namespace: "states", Name: "other"}, map[string]string{LabelCluster: tc.cluster})
			if err != nil {
				t.Fatal(err)
			}
			p := &pass{Syncer: &Syncer{}, Input: Input{Holders: known(HeldBy(secret))}, id: Identity{Cluster: "cluster1"}}
			m := relation{related: &related{identifier: "tls", origin: record.Origin}, match: match{from: record.From, to: record.To}}
			if got := p.isAboutToBeMade(m); got != tc.want {
				t.Errorf("%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

// TestAnother shows that no part of a text is the same in the other one, and that the form of values stays.
func TestAnother(t *testing.T) {
	is := map[string]any{"text": "team/Az-09.z", "list": []any{int64(1), 1.5, true, nil}, "map": map[string]any{"none": nil}}
	want := map[string]any{"text": "ufbn/Ba-10.a", "list": []any{int64(2), 2.5, false, nil}, "map": map[string]any{"none": nil}}
	if diff := cmp.Diff(want, another(is)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
