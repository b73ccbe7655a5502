package object_test

import (
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestNamesakesOnOneClusterByTwoURLs shows that Objects of one name which reach one cluster by two URLs, and are made
// at the same time, do not take each other's fields away: both have their fields in the end, and nobody writes any
// more.
func TestNamesakesOnOneClusterByTwoURLs(t *testing.T) {
	const pairs = 10
	c, tc := provide(t), target.Client(t)
	s := build.Namespaced()
	tns := target.Namespace(t)
	who := tns + "-namesake"
	cfg := target.User(t, who, "system:masters")
	front := kube.Front(t, cfg, func(server http.Handler) http.Handler { return server })
	firstNS, firstPC := connect(t, c, s, cfg)
	secondNS, secondPC := connect(t, c, s, front)

	var all []build.Object
	for i := range pairs {
		name := fmt.Sprintf("settings-%d", i)
		all = append(all,
			s.Object(firstNS, tns+name, firstPC, build.ConfigMap(tns, name, "first", "1")),
			s.Object(secondNS, tns+name, secondPC, build.ConfigMap(tns, name, "second", "2")))
	}
	// What both have seen before is no reason to wait: their watches have begun.
	for _, o := range []build.Object{
		s.Object(firstNS, tns+"warm-first", firstPC, build.ConfigMap(tns, "warm-first")),
		s.Object(secondNS, tns+"warm-second", secondPC, build.ConfigMap(tns, "warm-second")),
	} {
		kube.Create(t, c, o)
		awaitReady(t, c, o)
	}
	kube.Create(t, c, asClientObjects(all)...)
	for i := range pairs {
		key := types.NamespacedName{Namespace: tns, Name: fmt.Sprintf("settings-%d", i)}
		kube.Eventually(t, "both fields of "+key.Name, func() (bool, string) {
			cm := &corev1.ConfigMap{}
			err := tc.Get(t.Context(), key, cm)
			diff := cmp.Diff(map[string]string{"first": "1", "second": "2"}, cm.Data)
			return err == nil && diff == "", fmt.Sprint(err, diff)
		})
	}
	for _, o := range all {
		awaitReady(t, c, o)
	}
	settle(t, c, all...)
	audit := target.Audit(t)
	mark := audit.Mark()
	staysUnwritten(t, c, all...)
	if diff := cmp.Diff(map[string]int{}, audit.Since(mark).By(who).Count(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("requests at rest: -want, +got:\n%s", diff)
	}
	for i := 0; i < len(all); i += 2 {
		if a, b := all[i].Observed().Applied.FieldManager, all[i+1].Observed().Applied.FieldManager; a == b {
			t.Errorf("%s: want two field managers, both have %q", all[i].GetName(), a)
		}
	}
}

func asClientObjects(objs []build.Object) []client.Object {
	out := make([]client.Object, 0, len(objs))
	for _, o := range objs {
		out = append(out, o)
	}
	return out
}
