package object_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// ignore makes an Object leave fields to others.
func ignore(o build.Object, paths ...string) build.Object {
	var fields []commonv1.IgnoredField
	for _, p := range paths {
		fields = append(fields, commonv1.IgnoredField{FieldPath: p})
	}
	o.Desired().ForProvider.IgnoreFields = fields
	return o
}

// pair is a Deployment of two containers.
const pair = `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":2,"selector":{"matchLabels":{"app":"a"}},
	"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[
		{"name":"main","image":"example.org/main:1","args":["--a=1","--b=1"]},
		{"name":"side","image":"example.org/side:1"}]}}}}`

// scale sets the replicas of a Deployment as an autoscaler does.
func (w world) scale(t *testing.T, m build.Manifest, replicas string) {
	t.Helper()
	err := w.tc.SubResource("scale").Patch(t.Context(), &unstructured.Unstructured{Object: m},
		client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":`+replicas+`}}`)), client.FieldOwner("autoscaler"),
		client.WithSubResourceBody(parse(t, `{"apiVersion":"autoscaling/v1","kind":"Scale"}`)))
	if err != nil {
		t.Fatal(err)
	}
}

// awaitSpec waits until the Deployment of a manifest has the fields of a spec, and returns it.
func (w world) awaitSpec(t *testing.T, m build.Manifest, want string) *unstructured.Unstructured {
	t.Helper()
	var spec any
	if err := utiljson.Unmarshal([]byte(want), &spec); err != nil {
		t.Fatal(err)
	}
	live := (&unstructured.Unstructured{Object: m}).DeepCopy()
	kube.Await(t, w.tc, live, "the spec "+want, func() (bool, string) {
		got, _ := live.MarshalJSON()
		return has(live.Object["spec"], spec), string(got)
	})
	return live
}

// hasApplied reports whether an Object owns a field, as its name begins in managed fields.
func hasApplied(u *unstructured.Unstructured, o build.Object, field string) bool {
	return slices.ContainsFunc(u.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == commonv1.FieldManagerPrefix+o.GetName() && e.Operation == metav1.ManagedFieldsOperationApply &&
			bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(`"f:`+field+`":`))
	})
}

// TestIgnoredFields shows what becomes of fields that are left to others when the manifest is applied again.
func TestIgnoredFields(t *testing.T) {
	const containers = "/spec/template/spec/containers"
	for name, tc := range map[string]struct {
		reason string
		paths  []string
		before func(*testing.T, world, build.Manifest)
		others func(*testing.T, world, build.Manifest)
		want   string // of the spec, once the image is new
		owned  string // a field that the Object owns then
		given  string // a field that it does not
	}{
		"Unowned": {
			reason: "What nobody else owns stays as it is, and what is required too.",
			paths:  []string{"spec.replicas", "spec.selector"}, want: `{"replicas":2}`, owned: "replicas",
		},
		"Scaled": {
			reason: "What an autoscaler sets by a subresource is its own.",
			paths:  []string{"spec.replicas"},
			others: func(t *testing.T, w world, m build.Manifest) { w.scale(t, m, "5") },
			want:   `{"replicas":5}`, given: "replicas",
		},
		"Edited": {
			reason: "What somebody sets by a command is theirs.",
			paths:  []string{"spec.replicas"},
			others: func(t *testing.T, w world, m build.Manifest) {
				w.byHand(t, m, "kubectl-edit", operation(`replace /spec/replicas 5`))
			},
			want: `{"replicas":5}`, given: "replicas",
		},
		"Applied": {
			reason: "What another applier had set before stays, and it can go on without force.",
			paths:  []string{"spec.replicas"},
			before: func(t *testing.T, w world, m build.Manifest) { w.applyAs(t, "flux", m) },
			others: func(t *testing.T, w world, m build.Manifest) {
				w.awaitSpec(t, m, `{"replicas":4}`)
				w.applyAs(t, "flux", w.made(t, "web", `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":6}}`))
			},
			want: `{"replicas":6}`, given: "replicas",
		},
		"Kubectl": {
			reason: "So it is with what kubectl has applied client-side.",
			paths:  []string{"spec.replicas"},
			before: func(t *testing.T, w world, m build.Manifest) { w.asKubectl(t, m, nil) },
			want:   `{"replicas":4}`, given: "replicas",
		},
		"Gone": {
			reason: "What somebody removes comes back.",
			paths:  []string{"spec.template.spec.containers[*].args"},
			others: func(t *testing.T, w world, m build.Manifest) {
				w.byHand(t, m, "kubectl-edit", `[{"op":"remove","path":"`+containers+`/0/args"}]`)
				w.awaitSpec(t, m, `{"template":{"spec":{"containers":[{"args":["--a=1","--b=1"]},{"name":"side"}]}}}`)
			},
			want: `{"replicas":2}`, owned: "args",
		},
		"KeyedList": {
			reason: "An item is the one of the same name, wherever it is.",
			paths:  []string{"spec.template.spec.containers[1].image"},
			others: func(t *testing.T, w world, m build.Manifest) {
				w.byHand(t, m, "kubectl-edit", operation(`replace `+containers+` [{"name":"side","image":"example.org/side:9"},`+
					`{"name":"more","image":"example.org/more:9"},{"name":"main","image":"example.org/main:9"}]`))
			},
			want: `{"template":{"spec":{"containers":[{"name":"side","image":"example.org/side:9"},{"name":"more"},` +
				`{"name":"main","args":["--a=1","--b=1"]}]}}}`,
		},
		"AtomicList": {
			reason: "Of a list that is owned as a whole, an item can be left to others.",
			paths:  []string{"spec.template.spec.containers[0].args[1]"},
			others: func(t *testing.T, w world, m build.Manifest) {
				w.byHand(t, m, "kubectl-edit", operation(`replace `+containers+`/0/args ["--a=9","--b=9"]`))
			},
			want: `{"template":{"spec":{"containers":[{"args":["--a=1","--b=9"]},{"name":"side"}]}}}`, owned: "args",
		},
	} {
		t.Run(name, func(t *testing.T) {
			forWorldsBeside(t, func(t *testing.T, w world) {
				m := w.made(t, "web", pair)
				if tc.before != nil {
					tc.before(t, w, w.made(t, "web", strings.Replace(pair, `"replicas":2`, `"replicas":4`, 1)))
				}
				o := ignore(w.object(m), tc.paths...)
				createReady(t, w.c, o)
				if tc.others != nil {
					tc.others(t, w, m)
				}
				setManifest(t, w.c, o, w.made(t, "web", strings.Replace(pair, "main:1", "main:2", 1)))
				live := w.awaitSpec(t, m, `{"template":{"spec":{"containers":[{"image":"example.org/main:2"}`+
					strings.Repeat(`,{}`, 1+strings.Count(tc.want, "more"))+`]}}}`)
				live = w.awaitSpec(t, build.Manifest(live.Object), tc.want)
				if tc.owned != "" && !hasApplied(live, o, tc.owned) || tc.given != "" && hasApplied(live, o, tc.given) {
					t.Errorf("%s\nwant the Object to own %q and not %q, got %v", tc.reason, tc.owned, tc.given,
						live.GetManagedFields())
				}
			})
		})
	}
}

// TestIgnoredFieldIsSilent shows that an autoscaler costs no request, and that a new value in the manifest costs one
// apply, which does not change the field, as does one without the entry, which does.
func TestIgnoredFieldIsSilent(t *testing.T) {
	c := provide(t)
	forScopesBeside(t, func(t *testing.T, s build.Scope) {
		w := newWorldAs(t, c, s, "system:masters")
		m := w.made(t, "web", pair)
		o := ignore(w.object(m), "spec.replicas")
		createReady(t, c, o)
		mark := target.Audit(t).Mark()
		w.scale(t, m, "5")
		awaitReplicas := func() {
			kube.Await(t, c, o, "the status to show the replicas", func() (bool, string) {
				raw := string(o.Observed().Manifest.Raw)
				return strings.Contains(raw, `"replicas":5`), raw
			})
		}
		awaitReplicas()
		w.asksNothing(t, o)
		w.checkAsked(t, mark, nil)
		setManifest(t, c, o, w.made(t, "web", strings.Replace(pair, `"replicas":2`, `"replicas":3`, 1)))
		kube.Eventually(t, "the apply", func() (bool, string) {
			asked := target.Audit(t).Since(mark).By(w.user)
			return len(asked) > 0, asked.String()
		})
		awaitReplicas()
		w.asksNothing(t, o)
		w.checkAsked(t, mark, map[string]int{"patch deployments.apps": 1})
		kube.Edit(t, c, o, func() { ignore(o) })
		live := w.awaitSpec(t, m, `{"replicas":3}`)
		if !hasApplied(live, o, "replicas") {
			t.Errorf("want the field to be the Object's again, got %v", live.GetManagedFields())
		}
		w.asksNothing(t, o)
		w.checkAsked(t, mark, map[string]int{"patch deployments.apps": 2})
	})
}

// TestIgnoredFieldChangesMeanwhile shows that a resource which others change or delete between look and apply keeps
// what they have set, or is made again as a whole, and that nobody is told of it.
func TestIgnoredFieldChangesMeanwhile(t *testing.T) {
	c := provide(t)
	for name, tc := range map[string]struct {
		before    string // the replicas before, that an autoscaler sets
		meanwhile func(*testing.T, world, build.Manifest)
		want      string
	}{
		"Scaled": {
			meanwhile: func(t *testing.T, w world, m build.Manifest) { w.scale(t, m, "5") },
			want:      `{"replicas":5}`,
		},
		"Deleted": {
			before: "5",
			meanwhile: func(t *testing.T, w world, m build.Manifest) {
				kube.Delete(t, w.tc, &unstructured.Unstructured{Object: m})
			},
			want: `{"replicas":2}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var meanwhile atomic.Pointer[func()]
			w := newWorldOf(t, c, build.Namespaced(), kube.Front(t, targetUser(t), func(server http.Handler) http.Handler {
				return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPatch {
						if do := meanwhile.Swap(nil); do != nil {
							(*do)()
						}
					}
					server.ServeHTTP(rw, r)
				})
			}))
			m := w.made(t, "web", pair)
			o := ignore(w.object(m), "spec.replicas")
			createReady(t, c, o)
			if tc.before != "" {
				w.scale(t, m, tc.before)
			}
			meanwhile.Store(new(func() { tc.meanwhile(t, w, w.made(t, "web", pair)) }))
			setManifest(t, c, o, w.made(t, "web", strings.Replace(pair, "main:1", "main:2", 1)))
			w.awaitSpec(t, m, `{"template":{"spec":{"containers":[{"image":"example.org/main:2"},{}]}}}`)
			w.awaitSpec(t, m, tc.want)
			awaitReady(t, c, o)
			warns := func(e corev1.Event) bool { return e.Type == corev1.EventTypeWarning }
			if told := chosenEvents(t, c, o, warns); told != nil {
				t.Errorf("want no warning, got %q", told)
			}
		})
	}
}

// TestIgnoredData shows that a value which others have set stays, whatever the policy, and comes back when it is gone,
// while the values beside it are kept, and that the label of the provider is left to nobody.
func TestIgnoredData(t *testing.T) {
	for name, policies := range map[string]xpv2.ManagementPolicies{"All": nil, "Update": observeUpdate} {
		t.Run(name, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				w.asKubectl(t, build.ConfigMap(w.target, "settings", "color", "red"), nil)
				m := build.ConfigMap(w.target, "settings", "color", "blue", "shape", "round")
				m["metadata"].(map[string]any)["labels"] = map[string]any{"team": "ours"}
				o := ignore(w.object(m), "data.color", "metadata.labels")
				o.SetManagementPolicies(policies)
				createReady(t, w.c, o)
				cm := w.awaitData(t, "settings", "color", "red", "shape", "round")
				kube.Patch(t, w.tc, cm, `{"data":{"color":"green","shape":"square"},"metadata":{"labels":{"team":"theirs"}}}`)
				w.awaitData(t, "settings", "color", "green", "shape", "round")
				kube.Patch(t, w.tc, cm, `{"data":{"color":null}}`)
				cm = w.awaitData(t, "settings", "color", "blue", "shape", "round")
				if cm.Labels["team"] != "theirs" {
					t.Errorf("want the label that others have set, got %v", cm.Labels)
				}
				if name == "All" {
					kube.Patch(t, w.tc, cm, `{"metadata":{"labels":{"`+commonv1.LabelKeyManaged+`":"no"}}}`)
					kube.Await(t, w.tc, cm, "the label of the provider", func() (bool, string) {
						return cm.Labels[commonv1.LabelKeyManaged] == commonv1.LabelValueManaged, cm.Labels["team"]
					})
				}
			})
		})
	}
}

// TestIgnoredFieldOfTwoObjects shows that an Object leaves a field to another one that applies it, without a fight.
func TestIgnoredFieldOfTwoObjects(t *testing.T) {
	c := provide(t)
	w := newWorldAs(t, c, build.Namespaced(), "system:masters")
	of := func(name string, data ...string) build.Object {
		return w.scope.Object(w.namespace, name, w.config, build.ConfigMap(w.target, "settings", data...))
	}
	giver, keeper := ignore(of("giver", "color", "blue", "shape", "round"), "data.color"), of("keeper", "color", "red")
	createReady(t, c, giver, keeper)
	w.awaitData(t, "settings", "color", "red", "shape", "round")
	w.asksNothing(t, giver, keeper)
	setManifest(t, c, giver, build.ConfigMap(w.target, "settings", "color", "blue", "shape", "square"))
	w.awaitData(t, "settings", "color", "red", "shape", "square")
	second := ignore(of("second", "color", "green"), "data.color")
	createReady(t, c, second)
	w.awaitData(t, "settings", "color", "red", "shape", "square")
	w.asksNothing(t, giver, keeper, second)
}

// TestIgnoredFieldIsNoDifference shows that a preview compares what would be sent.
func TestIgnoredFieldIsNoDifference(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		kube.Create(t, w.tc, blue(w.target))
		for name, o := range map[string]build.Object{
			"dry": onDryRun(w.keeper("dry")), "observer": w.keeper("observer"),
		} {
			o.Desired().ForProvider.Manifest = build.Raw(build.ConfigMap(w.target, "settings", "color", "red"))
			if name == "observer" {
				o.SetManagementPolicies(observeOnly)
			}
			kube.Create(t, w.c, ignore(o, "data.color"))
			awaitCondition(t, w.c, o, noDifference)
			kube.Edit(t, w.c, o, func() { ignore(o) })
			awaitCondition(t, w.c, o, different, "data.color")
		}
	})
}

// TestIgnoredFieldIsTakenOver shows that a field which provider-kubernetes has applied client-side becomes that of its
// Object, and keeps its value.
func TestIgnoredFieldIsTakenOver(t *testing.T) {
	c := provide(t)
	w := newWorld(t, c, build.Namespaced())
	h := heritage{wrote: []writing{{
		manager: image, data: map[string]string{"color": "red", "shape": "round"}, annotation: "{}",
	}}}
	left := h.leave(t, w.tc, w.target)
	o := ignore(w.object(build.ConfigMap(w.target, "settings", "color", "blue", "shape", "square")), "data.color")
	adopt(t, c, o, left)
	unpause(t, c, o)
	awaitReady(t, c, o)
	cm := w.awaitData(t, "settings", "color", "red", "shape", "square")
	want := map[string]metav1.ManagedFieldsOperationType{
		commonv1.FieldManagerPrefix + o.GetName(): metav1.ManagedFieldsOperationApply,
	}
	if diff := cmp.Diff(want, dataManagers(t, cm)); diff != "" {
		t.Errorf("owners of data: -want, +got:\n%s", diff)
	}
}
