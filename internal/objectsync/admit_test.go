package objectsync

import (
	"testing"

	"github.com/pkg/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

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

// marked returns a copy that says that it is one.
func marked(p planner, c *copySync) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": p.marks(c)}}
	u.SetUID("copy")
	return u
}

// TestAdmit shows which related objects are copied to where they are to be.
func TestAdmit(t *testing.T) {
	for reason, tc := range map[string]struct {
		origin v1alpha1.Origin // OriginKCP by default
		change func(p planner, c *copySync)
		want   error
	}{
		"Nothing is there.": {change: func(planner, *copySync) {}},
		"The consumer may not name it.": {
			change: func(_ planner, c *copySync) { c.closed = ErrClosed }, want: ErrClosed,
		},
		"What has been copied stays so.": {
			change: func(_ planner, c *copySync) { c.closed, c.recorded = ErrClosed, &recorded{} },
		},
		"Unless it is another object.": {want: ErrClosed, change: func(_ planner, c *copySync) {
			c.closed, c.recorded = ErrClosed, &recorded{UID: "another"}
			c.origin.SetUID("uid")
		}},
		"What api-syncagent has copied stays, too.": {
			change: func(_ planner, c *copySync) { c.closed, c.byAgent, c.copied = ErrClosed, true, of(nil, nil) },
		},
		"Not where another workspace has its copy.": {
			change: func(_ planner, c *copySync) { c.byAgent, c.copyIsForeign = true, true }, want: ErrForeign,
		},
		"Another workspace has the object.": {
			change: func(_ planner, c *copySync) { c.originIsForeign, c.othersRefer = true, true }, want: ErrForeign,
		},
		"Another workspace refers to it, and it does not tell whose it is.": {
			change: func(_ planner, c *copySync) { c.othersRefer = true }, want: ErrForeign,
		},
		"It tells that it is for this workspace.": {
			change: func(_ planner, c *copySync) { c.othersRefer, c.owned = true, true },
		},
		"Somebody has made an object in the place.": {
			change: func(_ planner, c *copySync) { c.copied = of(nil, nil) }, want: ErrForeign,
		},
		"A mark alone says nothing.": {
			change: func(p planner, c *copySync) { c.copied = marked(p, c) }, want: ErrForeign,
		},
		"But with a state that is lost it does.": {
			change: func(p planner, c *copySync) { c.copied, p.view.lost = marked(p, c), true },
		},
		"Without a mark it is somebody else's.": {
			change: func(p planner, c *copySync) { c.copied, p.view.lost = of(nil, nil), true }, want: ErrForeign,
		},
		"Another object of the workspace is about to make it.": {
			change: func(p planner, c *copySync) { c.copied, c.hasSiblings = marked(p, c), true },
		},
		"Another object of the workspace has it, as api-syncagent has made it.": {
			change: func(_ planner, c *copySync) { c.copied, c.hasSiblings, c.siblingsKeep = of(nil, nil), true, true },
		},
		"Its creation was not answered.": {change: func(p planner, c *copySync) {
			c.copied, c.recorded = marked(p, c), &recorded{Record: c.record(), Pending: true}
		}},
		"It was about to be made, and somebody else has made another.": {
			change: func(_ planner, c *copySync) { c.copied, c.recorded = of(nil, nil), &recorded{Pending: true} },
			want:   ErrForeign,
		},
		"It has the UID that was recorded.": {change: func(_ planner, c *copySync) {
			c.copied, c.recorded = of(nil, nil), &recorded{CopyUID: "copy"}
			c.copied.SetUID("copy")
		}},
		"Somebody has deleted the copy, and made another object.": {
			change: func(_ planner, c *copySync) { c.copied, c.recorded = of(nil, nil), &recorded{CopyUID: "copy"} },
			want:   ErrForeign,
		},
		"States are never copied.": {
			origin: v1alpha1.OriginService, want: ErrForeign,
			change: func(_ planner, c *copySync) {
				c.byAgent, c.origin = true, of(map[string]string{LabelState: "true"}, nil)
			},
		},
		"An object and one related to itself would be remembered in one place.": {
			change: func(p planner, c *copySync) { c.from = p.view.ref }, want: ErrForeign,
		},
	} {
		p, c := planning(tc.origin, "")
		tc.change(p, c)
		if got := p.admit(c); !errors.Is(got, tc.want) {
			t.Errorf("%s Want %v, got %v", reason, tc.want, got)
		}
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
			f, err := newFilter(&v1alpha1.ResourceFilter{Namespace: &apiextensionsv1.JSON{Raw: []byte(tc.filter)}})
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
