package collection_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// staysWithMembers checks that the members of a collection are what they are for a while.
func (w world) staysWithMembers(t *testing.T, names ...string) {
	t.Helper()
	want := map[string]string{}
	for _, n := range names {
		want[memberName(w.tns, w.tns, n)] = w.tns + "/" + n
	}
	w.staysNamed(t, want)
}

// TestTargetDown shows that no member is deleted while the target does not answer, and that what has changed meanwhile
// is made up for.
func TestTargetDown(t *testing.T) {
	forScopes(t, func(t *testing.T, w world) {
		kube.Create(t, w.tc, configMap(w.tns, "first", "a"))
		oc := w.collect()
		kube.Create(t, w.c, oc)
		first := w.awaitMembers(t, "first")
		w.awaitSettled(t, oc)
		target.Stop(t)
		awaitCondition(t, w.c, oc, failed(commonv1.ReasonTargetUnreachable))
		change(t, w.c, oc, give(map[string]string{"a": "b"}, nil)) // A pass that has a reason.
		awaitCondition(t, w.c, oc, failed(commonv1.ReasonTargetUnreachable))

		target.Restart(t)
		w.awaitSettled(t, oc)
		kube.Create(t, target.Client(t), configMap(w.tns, "second", "a"))
		both := w.awaitMembers(t, "first", "second")
		for name, m := range first {
			if both[name].GetUID() != m.GetUID() {
				t.Errorf("member %s was deleted and made again", name)
			}
		}
	})
}

// TestMissingProviderConfig shows that a ProviderConfig or Secret that does not exist is said in the status, that
// members stay meanwhile, and that it is noticed when it appears. A defect of provider-kubernetes: it did not put
// errors about the ProviderConfig in the status.
func TestMissingProviderConfig(t *testing.T) {
	forScopesBeside(t, func(t *testing.T, w world) {
		kube.Create(t, w.tc, configMap(w.tns, "first", "a"))
		oc := w.collect()
		w.scope.SetConfig(oc, w.ns+"-later")
		kube.Create(t, w.c, oc)
		awaitCondition(t, w.c, oc, failed(commonv1.ReasonInvalidConnection), w.ns+"-later")
		kube.Create(t, w.c, w.scope.Config(w.ns, w.ns+"-later", build.FromSecret(w.ns, "later")))
		awaitCondition(t, w.c, oc, failed(commonv1.ReasonInvalidConnection), "Secret "+w.ns+"/later does not exist")
		later := build.Credentials(w.ns, "later", kube.Kubeconfig(t, target.User(t, user, admins)))
		kube.Create(t, w.c, later)
		for _, m := range w.awaitMembers(t, "first") {
			awaitCondition(t, w.c, m, ready)
		}
		w.awaitSettled(t, oc)

		kube.Delete(t, w.c, later)
		awaitCondition(t, w.c, oc, failed(commonv1.ReasonInvalidConnection))
		w.staysWithMembers(t, "first")
	})
}

// TestDeniedStream shows that a target which denies list and watch is reported, and that members stay; and that rights
// given later are noticed by the next change at the latest.
func TestDeniedStream(t *testing.T) {
	forScopesBeside(t, func(t *testing.T, w world) {
		kube.Create(t, w.tc, configMap(w.tns, "first", "a"))
		who := w.tns + "-guest"
		role, binding := build.RightsIn(w.tns, who, build.User(who), "get", "list", "watch")
		kube.Create(t, w.tc, role, binding)
		proxy, cfg := kube.NewProxy(t, target.User(t, who))
		kube.Create(t, w.c, build.Credentials(w.ns, "guest", kube.Kubeconfig(t, cfg)),
			w.scope.Config(w.ns, who, build.FromSecret(w.ns, "guest")))
		oc := w.collect()
		w.scope.SetConfig(oc, who)
		kube.Create(t, w.c, oc)
		w.awaitMembers(t, "first")
		w.awaitSettled(t, oc)

		// The right to look at one namespace does not suffice for all.
		change(t, w.c, oc, func(c build.Collection) { c.Desired().ObserveObjects.Namespace = "" })
		awaitCondition(t, w.c, oc, failed(commonv1.ReasonForbidden))
		w.staysWithMembers(t, "first")
		change(t, w.c, oc, func(c build.Collection) { c.Desired().ObserveObjects.Namespace = w.tns })
		w.awaitSettled(t, oc)

		// Rights that are withdrawn show when the stream breaks off.
		kube.Delete(t, w.tc, binding)
		awaitDenied(t, who, w.tns)
		proxy.Cut(0)
		awaitCondition(t, w.c, oc, failed(commonv1.ReasonForbidden))
		w.staysWithMembers(t, "first")
	})
}

// awaitDenied waits until the target has noticed that a user may not list ConfigMaps of a namespace any more.
func awaitDenied(t *testing.T, who, namespace string) {
	t.Helper()
	c, err := client.New(target.User(t, who), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, "the target to deny a list", func() (bool, string) {
		return apierrors.IsForbidden(c.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(namespace))),
			"it does not"
	})
}

// TestUnknownKind shows that a kind which the target does not serve is reported and then waited for; and that when it
// goes, its members go with the resources, and it is waited for again.
func TestUnknownKind(t *testing.T) {
	forScopesBeside(t, func(t *testing.T, w world) {
		crd := build.Definition(w.tns+".example.org", "widgets")
		oc := w.collect()
		oc.Desired().ObserveObjects = commonv1.ObserveObjects{APIVersion: crd.Spec.Group + "/v1", Kind: "Widget"}
		kube.Create(t, w.c, oc)
		awaitCondition(t, w.c, oc, failed(commonv1.ReasonUnknownKind))
		for range 2 {
			kube.Create(t, w.tc, crd)
			w.awaitSettled(t, oc)
			kube.Eventually(t, "a widget to be accepted", func() (bool, string) {
				err := w.tc.Create(t.Context(), build.Resource(crd.Spec.Group+"/v1", "Widget", w.tns, "wheel"))
				return err == nil, "it is not"
			})
			id := crd.Spec.Group + "/v1, Kind=Widget/" + w.tns + "/wheel"
			for _, m := range w.awaitNamed(t, map[string]string{w.tns + "-" + hash(id)[:7]: w.tns + "/wheel"}) {
				awaitCondition(t, w.c, m, ready)
			}
			kube.Remove(t, w.tc, crd)
			awaitCondition(t, w.c, oc, failed(commonv1.ReasonUnknownKind))
			w.awaitNamed(t, nil)
			crd = build.Definition(w.tns+".example.org", "widgets")
		}
	})
}

// TestInvalidSelection shows what is said of a selection that cannot be, by the control plane or in the status.
func TestInvalidSelection(t *testing.T) {
	forScopes(t, func(t *testing.T, w world) {
		for name, tc := range map[string]struct {
			change func(build.Collection)
			want   string
		}{
			"APIVersion": {
				change: func(c build.Collection) { c.Desired().ObserveObjects.APIVersion = "a/b/c" },
				want:   "cannot parse apiVersion",
			},
			"Operator": {
				change: func(c build.Collection) {
					c.Desired().ObserveObjects.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{
						Key: "a", Operator: "Maybe",
					}}
				},
				want: `"Maybe" is not a valid label selector operator`,
			},
			"Unwatchable": {
				change: func(c build.Collection) {
					objects := &c.Desired().ObserveObjects
					objects.APIVersion, objects.Kind = "authorization.k8s.io/v1", "SelfSubjectAccessReview"
				},
				want: "target cannot watch kind SelfSubjectAccessReview",
			},
		} {
			t.Run(name, func(t *testing.T) {
				kube.Create(t, w.tc, configMap(w.tns, strings.ToLower(name), "a"))
				oc := w.collect()
				oc.SetName(w.tns + "-" + strings.ToLower(name))
				tc.change(oc)
				kube.Create(t, w.c, oc)
				awaitCondition(t, w.c, oc, failed(commonv1.ReasonInvalidSelection), tc.want)
				change(t, w.c, oc, func(c build.Collection) { c.Desired().ObserveObjects = w.collect().Desired().ObserveObjects })
				w.awaitSettled(t, oc)
			})
		}
	})
}

// TestSchema shows what the control plane refuses, and what it fills in.
func TestSchema(t *testing.T) {
	forScopes(t, func(t *testing.T, w world) {
		for name, tc := range map[string]struct {
			change func(build.Collection)
			want   string
		}{
			"LongName": {
				change: func(c build.Collection) { c.SetName(strings.Repeat("n", 64)) },
				want:   "metadata.name max length is 63",
			},
			"NoAPIVersion": {
				change: func(c build.Collection) { c.Desired().ObserveObjects.APIVersion = "" },
				want:   "spec.observeObjects.apiVersion",
			},
			"NoKind": {
				change: func(c build.Collection) { c.Desired().ObserveObjects.Kind = "" },
				want:   "spec.observeObjects.kind",
			},
		} {
			oc := w.collect()
			tc.change(oc)
			if err := w.c.Create(t.Context(), oc); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: want an error with %q, got %v", name, tc.want, err)
			}
		}
		group := map[string]string{
			"Cluster": "kubernetes.crossplane.io", "Namespaced": "kubernetes.m.crossplane.io",
		}[w.scope.Name]
		bare := build.Resource(group+"/v1alpha1", "ObservedObjectCollection", w.namespace(), w.tns+"-bare")
		bare.Object["spec"] = map[string]any{"observeObjects": map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "selector": map[string]any{}, "namespace": w.tns,
		}}
		kube.Create(t, w.c, bare)
		ref := map[string]any{"name": "default"}
		if w.namespace() != "" {
			ref["kind"] = "ClusterProviderConfig"
		}
		got, _, _ := unstructured.NestedMap(bare.Object, "spec", "providerConfigRef")
		if diff := cmp.Diff(ref, got); diff != "" {
			t.Errorf("default of providerConfigRef: -want, +got:\n%s", diff)
		}
	})
}

// TestEqualSelectionsShareOneStream shows that ten collections that select alike cost one watch on the target.
func TestEqualSelectionsShareOneStream(t *testing.T) {
	forScopes(t, func(t *testing.T, w world) {
		who := w.tns + "-sharer"
		kube.Create(t, w.c, build.Credentials(w.ns, "sharer", kube.Kubeconfig(t, target.User(t, who, admins))),
			w.scope.Config(w.ns, who, build.FromSecret(w.ns, "sharer")))
		audit := target.Audit(t)
		mark := audit.Mark()
		for i := range 10 {
			oc := w.scope.Collection(w.ns, fmt.Sprintf("%s-%d", w.tns, i), who, build.ConfigMaps(w.tns, "team", "a"))
			kube.Create(t, w.c, oc)
			w.awaitSettled(t, oc)
		}
		if diff := cmp.Diff(map[string]int{"watch configmaps": 1}, audit.Watches(mark).By(who).Count()); diff != "" {
			t.Errorf("watches: -want, +got:\n%s", diff)
		}
	})
}
