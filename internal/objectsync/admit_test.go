package objectsync

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/related"
)

// known are holders that do not change.
type known []Holding

// Holdings returns all.
func (k known) Holdings(string, Ref) []Holding { return k }

// HasCopies knows of none.
func (known) HasCopies(string, string) (bool, error) { return false, nil }

// IsCopy knows of none.
func (known) IsCopy(Ref) (bool, error) { return false, nil }

// Drop does nothing.
func (known) Drop(Holding) {}

// planning returns a planner for object web with one related Secret, and the Secret. Nothing is known of its copy. The
// default origin is the workspace.
func planning(origin v1alpha1.Origin, existing v1alpha1.ExistingObjectsPolicy) (planner, *copySync) {
	thing := Resource{GroupVersionResource: Secrets.GroupVersion().WithResource("things"), Kind: "Thing", Status: true}
	secret := Resource{GroupVersionResource: Secrets, Kind: "Secret", Scope: v1alpha1.ScopeNamespaced}
	if origin == "" {
		origin = v1alpha1.OriginKCP
	}
	spec := &v1alpha1.PublishedResourceSpec{
		ExistingObjects: existing,
		Related: []v1alpha1.RelatedResource{{
			Identifier: "tls", Origin: origin, Object: &v1alpha1.RelatedResourceObject{
				RelatedResourceObjectSpec: v1alpha1.RelatedResourceObjectSpec{
					Reference: &v1alpha1.FieldReference{Path: "spec.secretName"},
				},
			},
		}},
	}
	s, err := New(Config{
		Spec: spec, Agent: "agent", Publication: "a/b/c", StateNamespace: "states",
		Primary: Pair{Workspace: thing, Service: thing},
		Related: map[string]Pair{"tls": {Workspace: secret, Service: secret}},
	})
	if err != nil {
		panic(err)
	}
	me := Primary{Cluster: "cluster1", NamespacedName: types.NamespacedName{Namespace: "default", Name: "web"}}
	v := &view{id: s.identity(me), ref: s.RefOf(me), source: of(nil, nil)}
	v.source.SetName("web")
	v.source.SetNamespace("default")
	v.stored, _ = readState(nil)
	c := &copySync{
		rule: s.related[0], cluster: clusterOf(origin, "cluster1"), origin: of(nil, nil),
		from: secret.ref(types.NamespacedName{Namespace: "default", Name: "a"}),
		to:   secret.ref(types.NamespacedName{Namespace: "x", Name: "a"}),
	}
	return planner{syncer: s, view: v}, c
}

// TestLearn shows what other objects tell of a related object and its copy: those of the workspace, of whatever kind,
// share it, and those of others keep it.
func TestLearn(t *testing.T) {
	type told struct{ IsCopy, Alike, Shared, Taken, Claimed, Wanted bool }
	_, down := planning(v1alpha1.OriginKCP, "")
	_, up := planning(v1alpha1.OriginService, "")
	me := Primary{Cluster: "cluster1", NamespacedName: types.NamespacedName{Name: "web"}}
	mine, others := types.NamespacedName{Name: "mine"}, types.NamespacedName{Name: "others"}
	elsewhere := Primary{Cluster: "cluster2", NamespacedName: me.NamespacedName}
	record := down.record()
	otherCopy, wayBack := record, Record{Origin: v1alpha1.OriginService, From: up.from, To: down.from}
	otherCopy.To.Name = "b"
	for name, tc := range map[string]struct {
		c    *copySync
		h    Holding
		want told
	}{
		"Mine": {c: down, h: Holding{Primary: me, State: mine, Record: record, Kept: true}},
		"Kind": { // An object of another kind may have the same name.
			c: down, h: Holding{Primary: me, State: others, Record: record, Kept: true},
			want: told{Alike: true, Shared: true},
		},
		"Waits": {c: down, h: Holding{Primary: me, State: others, Record: record}}, // Or it has been refused.
		"Makes": {
			c: down, h: Holding{Primary: Primary{Cluster: "cluster1"}, State: others, Record: record}, want: told{Alike: true},
		},
		"StateOnly": { // It may be one's own.
			c: down, h: Holding{Primary: Primary{Cluster: "cluster1"}, State: others, Record: record, Kept: true},
			want: told{Alike: true},
		},
		"OtherCopy": {c: down, h: Holding{Primary: me, State: others, Record: otherCopy, Kept: true}},
		"WayBack":   {c: down, h: Holding{Primary: me, State: others, Record: wayBack, Kept: true}, want: told{IsCopy: true}},
		"Elsewhere": {
			c: down, h: Holding{Primary: elsewhere, State: others, Record: record, Kept: true},
			want: told{Taken: true, Claimed: true, Wanted: true},
		},
		"Up": { // Each workspace has its own copy.
			c: up, h: Holding{Primary: elsewhere, State: others, Record: up.record()}, want: told{Wanted: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, c := planning(tc.c.rule.origin, "")
			f := &finder{pass: &pass{planner: p, in: Input{Holders: known{tc.h}}, secret: &stateSecret{name: mine}}}
			got := told{f.learn(c), c.hasSiblings, c.siblingsKeep, c.copyIsForeign, c.originIsForeign, c.othersRefer}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// TestLearnRecorded shows that a copy stays the one it is if its related resource gets another identifier, or its API
// another version.
func TestLearnRecorded(t *testing.T) {
	p, c := planning(v1alpha1.OriginKCP, "")
	was := c.record()
	was.Identifier, was.From.Version, was.To.Version = "former", "v1beta1", "v1beta1"
	p.view.stored.records[was.plain()] = recorded{Record: was}
	(&finder{pass: &pass{planner: p, in: Input{Holders: known{}}}}).learn(c)
	if !c.isMade() {
		t.Errorf("want it recorded, got %+v", c.recorded)
	}
}

// TestLearnCopy shows that what is about to be made, and may be there, is the origin of nothing, either.
func TestLearnCopy(t *testing.T) {
	p, c := planning(v1alpha1.OriginService, "")
	p.view.stored.records = map[Record]recorded{{Origin: v1alpha1.OriginKCP, To: c.from.Plain()}: {Pending: true}}
	as := &pass{planner: p, in: Input{Holders: known{}}, secret: &stateSecret{}}
	if !newFinder(as, related.View{Service: of(nil, nil)}).learn(c) {
		t.Error("want it known as a copy")
	}
}

// marked returns a copy that says that it is one.
func marked(p planner, c *copySync) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": p.marks(c)}}
	u.SetUID("copy")
	return u
}

// TestAdmit shows which related objects are copied to where they are to be.
func TestAdmit(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		origin v1alpha1.Origin // OriginKCP by default
		change func(p planner, c *copySync)
		want   error
	}{
		"Free": {reason: "Nothing is there.", change: func(planner, *copySync) {}},
		"Closed": {
			reason: "The consumer may not name it.",
			change: func(_ planner, c *copySync) { c.closed = ErrClosed }, want: ErrClosed,
		},
		"ClosedSince": {
			reason: "What has been copied stays so.",
			change: func(_ planner, c *copySync) { c.closed, c.recorded = ErrClosed, &recorded{} },
		},
		"Replaced": {
			reason: "Unless it is another object.", want: ErrClosed,
			change: func(_ planner, c *copySync) {
				c.closed, c.recorded = ErrClosed, &recorded{UID: "another"}
				c.origin.SetUID("uid")
			},
		},
		"Agents": {
			reason: "What api-syncagent has copied, too.",
			change: func(_ planner, c *copySync) { c.closed, c.byAgent, c.copied = ErrClosed, true, of(nil, nil) },
		},
		"AgentsElsewhere": {
			reason: "Not where another workspace has its copy.", want: ErrForeign,
			change: func(_ planner, c *copySync) { c.byAgent, c.copyIsForeign = true, true },
		},
		"Claimed": {
			reason: "Another workspace has the object.", want: ErrForeign,
			change: func(_ planner, c *copySync) { c.originIsForeign, c.othersRefer = true, true },
		},
		"Wanted": {
			reason: "Another workspace refers to it, and it does not tell whose it is.", want: ErrForeign,
			change: func(_ planner, c *copySync) { c.othersRefer = true },
		},
		"Owned": {
			reason: "It tells that it is for this workspace.",
			change: func(_ planner, c *copySync) { c.othersRefer, c.owned = true, true },
		},
		"InPlace": {
			reason: "Somebody has made an object in the place.", want: ErrForeign,
			change: func(_ planner, c *copySync) { c.copied = of(nil, nil) },
		},
		"Forged": {
			reason: "A mark alone says nothing.", want: ErrForeign,
			change: func(p planner, c *copySync) { c.copied = marked(p, c) },
		},
		"Lost": {
			reason: "But with a state that is lost it does.",
			change: func(p planner, c *copySync) { c.copied, p.view.lost = marked(p, c), true },
		},
		"LostUnmarked": {
			reason: "Without a mark it is somebody else's.", want: ErrForeign,
			change: func(p planner, c *copySync) { c.copied, p.view.lost = of(nil, nil), true },
		},
		"Alike": {
			reason: "Another object of the workspace is about to make it.",
			change: func(p planner, c *copySync) { c.copied, c.hasSiblings = marked(p, c), true },
		},
		"Shared": {
			reason: "Another object of the workspace has it, as api-syncagent has made it.",
			change: func(_ planner, c *copySync) { c.copied, c.hasSiblings, c.siblingsKeep = of(nil, nil), true, true },
		},
		"Pending": {
			reason: "Its creation was not answered.",
			change: func(p planner, c *copySync) {
				c.copied, c.recorded = marked(p, c), &recorded{Record: c.record(), Pending: true}
			},
		},
		"Met": {
			reason: "It was about to be made, and somebody else has made another.", want: ErrForeign,
			change: func(_ planner, c *copySync) { c.copied, c.recorded = of(nil, nil), &recorded{Pending: true} },
		},
		"UID": {
			reason: "It has the UID that was recorded.",
			change: func(_ planner, c *copySync) {
				c.copied, c.recorded = of(nil, nil), &recorded{CopyUID: "copy"}
				c.copied.SetUID("copy")
			},
		},
		"OtherUID": {
			reason: "Somebody has deleted the copy, and made another object.", want: ErrForeign,
			change: func(_ planner, c *copySync) {
				c.copied, c.recorded = of(nil, nil), &recorded{CopyUID: "copy"}
			},
		},
		"State": {
			reason: "States are never copied.", origin: v1alpha1.OriginService, want: ErrForeign,
			change: func(_ planner, c *copySync) {
				c.byAgent, c.origin = true, of(map[string]string{LabelState: "true"}, nil)
			},
		},
		"Itself": {
			reason: "Both would be remembered in one place.", want: ErrForeign,
			change: func(p planner, c *copySync) { c.from = p.view.ref },
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, c := planning(tc.origin, "")
			tc.change(p, c)
			if got := p.admit(c); !errors.Is(got, tc.want) {
				t.Errorf("%s Want %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}

// TestAgentsNamesakes shows that the copy of a Secret that is named like another object is taken over from
// api-syncagent, which has remembered that one, if it is what the agent would have made, and that one which is not is
// left alone.
func TestAgentsNamesakes(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		origin v1alpha1.Origin // OriginKCP by default
		change func(p planner, c *copySync)
		want   bool
	}{
		"Same": {reason: "It is all that it would be.", change: func(planner, *copySync) {}, want: true},
		"Up": {
			reason: "On the service cluster the agent holds nothing.", origin: v1alpha1.OriginService, want: true,
			change: func(_ planner, c *copySync) { c.origin.SetFinalizers(nil) },
		},
		"Deletion": {
			reason: "So is one in deletion.", want: true,
			change: func(_ planner, c *copySync) { c.copied.SetDeletionTimestamp(new(metav1.Now())) },
		},
		"Content": {
			reason: "It may be another's.",
			change: func(_ planner, c *copySync) { c.copied.Object["data"] = map[string]any{"k": "b"} },
		},
		"NotHeld": {
			reason: "The agent holds what it has copied.",
			change: func(_ planner, c *copySync) { c.origin.SetFinalizers(nil) },
		},
		"Gone": {
			reason: "Without the Secret nobody knows.",
			change: func(_ planner, c *copySync) { c.origin = nil },
		},
		"Ours": {reason: "We record what we copy.", change: func(p planner, _ *copySync) { p.view.agents = false }},
		"Free": {
			reason: "The place was the Secret's own.",
			change: func(p planner, _ *copySync) { p.view.stored.contents = nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, c := planning(tc.origin, "")
			p.view.agents = true
			agents, _ := c.keys()
			p.view.stored.contents[agents] = []byte(`{"apiVersion":"v1","kind":"ConfigMap"}`)
			c.origin.Object["data"] = map[string]any{"k": "a"}
			c.copied = c.origin.DeepCopy()
			c.origin.SetFinalizers([]string{Finalizer})
			tc.change(p, c)
			if got := p.isAgents(c); got != tc.want {
				t.Errorf("%s Want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

// TestPasses shows which objects pass a filter of namespaces.
func TestPasses(t *testing.T) {
	const prod = `{"matchLabels":{"stage":"prod"}}`
	const not = `{"matchExpressions":[{"key":"stage","operator":"DoesNotExist"}]}`
	for name, tc := range map[string]struct {
		reason, filter, in string
		namespace          *unstructured.Unstructured
		held, want         bool
	}{
		"Labels": {
			reason: "It has the labels.", filter: prod, in: "a", want: true,
			namespace: of(map[string]string{"stage": "prod"}, nil),
		},
		"OtherLabels":   {reason: "It has not.", filter: prod, in: "a", namespace: of(nil, nil)},
		"Unknown":       {reason: "That is not known.", filter: prod, in: "a"},
		"UnknownHeld":   {reason: "What is held stays so until then.", filter: prod, in: "a", held: true, want: true},
		"Unnamespaced":  {reason: "What is in none passes no filter of them.", filter: not},
		"NotByName":     {reason: "Nor one by name.", filter: `"prod"`},
		"ByName":        {reason: "It has the name.", filter: `"prod"`, in: "prod", want: true},
		"AnotherByName": {reason: "It has another.", filter: `"prod"`, in: "dev"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := newFilter(&v1alpha1.ResourceFilter{Namespace: &v1alpha1.NamespaceFilter{Raw: []byte(tc.filter)}})
			if err != nil {
				t.Fatal(err)
			}
			v := &view{id: identity(tc.in, "web"), source: of(nil, nil), namespace: tc.namespace}
			v.source.SetNamespace(tc.in)
			if tc.held {
				v.source.SetFinalizers([]string{Finalizer})
			}
			if got := (planner{syncer: &Syncer{filter: f}, view: v}).passes(); got != tc.want {
				t.Errorf("%s Want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
