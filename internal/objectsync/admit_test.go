package objectsync

import (
	"testing"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// known are holders that do not change.
type known []Holding

// Holdings returns all.
func (k known) Holdings(string, Ref) []Holding { return k }

// HasOthers knows of none.
func (known) HasOthers(string, string) (bool, error) { return false, nil }

// Drop does nothing.
func (known) Drop(Holding) {}

// TestShares shows whose copies an object of a workspace may keep in step: those that another object of the workspace
// keeps, of whatever kind.
func TestShares(t *testing.T) {
	record := Record{
		Identifier: "tls", Origin: v1alpha1.OriginKCP, From: Ref{Kind: "Secret", Namespace: "default", Name: "a"},
		To: Ref{Kind: "Secret", Namespace: "x", Name: "a"},
	}
	syncer := func(kind string) *Syncer {
		return &Syncer{primary: copyRule{Pair: Pair{Workspace: Resource{Kind: kind}}}}
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
		h    Holding
		want bool
	}{
		"Mine":      {h: of("Thing", me), want: false},
		"Kind":      {h: of("Other", me), want: true}, // An object of another kind may have the same name.
		"Waits":     {h: of("Other", me, func(h *Holding) { h.Kept = false }), want: false},
		"Elsewhere": {h: of("Thing", elsewhere), want: false},
		"StateOnly": {h: of("Other", me, func(h *Holding) { h.Primary.Name = "" }), want: false}, // It may be one's own.
		"OtherCopy": {h: of("Other", me, func(h *Holding) { h.To.Name = "b" }), want: false},
		"WayBack":   {h: of("Other", me, func(h *Holding) { h.Origin = v1alpha1.OriginService }), want: false},
	} {
		t.Run(name, func(t *testing.T) {
			p := &pass{
				Syncer: syncer("Thing"), Input: Input{Holders: known{tc.h}, Object: me.NamespacedName},
				id: Identity{Cluster: me.Cluster},
			}
			if got := p.shares(record); got != tc.want {
				t.Errorf("want %t, got %t", tc.want, got)
			}
		})
	}
}
