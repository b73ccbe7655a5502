package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// bundle returns an application of ConfigMaps in a namespace of the target, each with a Secret.
func bundle(ns, tns string, from, to int) *workloadv1alpha1.KubernetesApplication {
	var templates []workloadv1alpha1.ResourceTemplate
	for i := from; i < to; i++ {
		name := fmt.Sprintf("part-%02d", i)
		templates = append(templates, build.ResourceTemplate(name, build.ConfigMap(tns, name, "color", "blue"), "sql"))
	}
	return build.Application(ns, "bundle", ns, templates...)
}

// killDuring starts the provider and kills it when it has begun a number of writes to both servers since, or is done.
func killDuring(t *testing.T, n int, done func() (bool, string)) {
	t.Helper()
	p, m := start(t), mark(t)
	kube.Eventually(t, fmt.Sprintf("%d writes", n), func() (bool, string) {
		got := len(writes(m.onTarget(t))) + len(writes(m.onLocal(t)))
		is, _ := done()
		return is || got >= n, strconv.Itoa(got)
	})
	p.Kill()
}

// parts returns the UIDs of the ConfigMaps of a bundle and of its Secrets, by name.
func parts(t *testing.T, c client.Client, tns string) map[string]types.UID {
	t.Helper()
	cms, secrets := &corev1.ConfigMapList{}, &corev1.SecretList{}
	for _, l := range []client.ObjectList{cms, secrets} {
		kube.List(t, c, l, client.InNamespace(tns), client.HasLabels{"kubernetes.crossplane.io/managed"})
	}
	uids := map[string]types.UID{}
	for _, cm := range cms.Items {
		uids[cm.GetName()] = cm.GetUID()
	}
	for _, s := range secrets.Items {
		uids[s.GetName()] = s.GetUID()
	}
	return uids
}

// TestApplicationKilledAtAnyStep shows that an application whose provider is killed while it creates, changes and
// deletes ends as if it had not been, and that nothing is made twice or left behind.
func TestApplicationKilledAtAnyStep(t *testing.T) {
	const n = 20
	c, tc := clients(t)
	ns, tns := credentials(t, c), target.Namespace(t)
	pc := &mpcv1alpha1.ProviderConfig{ObjectMeta: build.Meta(ns, ns), Spec: build.FromSecret(ns, ns)}
	pc.SetLabels(map[string]string{"tier": ns})
	sql := &corev1.Secret{ObjectMeta: build.Meta(ns, "sql"), Data: map[string][]byte{"password": []byte("p")}}
	app := bundle(ns, tns, 0, n)
	kube.Create(t, c, pc, sql, app)
	submitted := func() (bool, string) {
		err := c.Get(t.Context(), client.ObjectKeyFromObject(app), app)
		s := app.Status
		return err == nil && s.State == workloadv1alpha1.StateSubmitted &&
			s.ObservedGeneration == app.GetGeneration(), fmt.Sprintf("%+v", s)
	}

	m := mark(t)
	for _, writes := range []int{1, 3, 25, 40} {
		killDuring(t, writes, submitted)
	}
	before := parts(t, tc, tns)
	last := start(t)
	kube.Eventually(t, "the application to be submitted", submitted)
	awaitSilence(t)
	last.Kill()
	after := parts(t, tc, tns)
	if len(after) != 2*n {
		t.Errorf("want %d resources and as many Secrets, got %d in all", n, len(after))
	}
	for name, uid := range before {
		if after[name] != uid {
			t.Errorf("%s: want UID %s as before the kill, got %q", name, uid, after[name])
		}
	}
	if made := perName(answered(that(m.onTarget(t), "patch"), http.StatusCreated)); len(made) > 0 &&
		slices.Max(values(made)) > 1 {
		t.Errorf("creations of each: want at most 1, got %v", made)
	}

	kube.Get(t, c, client.ObjectKeyFromObject(app), app)
	app.Spec.ResourceTemplates = bundle(ns, tns, n/2, n+n/2).Spec.ResourceTemplates
	kube.Update(t, c, app)
	for _, writes := range []int{2, 15} {
		killDuring(t, writes, submitted)
	}
	last = start(t)
	kube.Eventually(t, "the changed application to be submitted", submitted)
	awaitSilence(t)
	last.Kill()
	if got := parts(t, tc, tns); len(got) != 2*n || got["part-00"] != "" || got["part-00-sql"] != "" ||
		got["part-15"] != after["part-15"] {
		t.Errorf("want the resources of the templates there are, and no others: %v", got)
	}

	kube.Delete(t, c, app)
	gone := func() (bool, string) {
		err := c.Get(t.Context(), client.ObjectKeyFromObject(app), app)
		return apierrors.IsNotFound(err), fmt.Sprintf("%+v", app.Status)
	}
	for _, writes := range []int{3, 20} {
		killDuring(t, writes, gone)
	}
	start(t)
	kube.Eventually(t, "the application to be gone", gone)
	if got := parts(t, tc, tns); len(got) > 0 {
		t.Errorf("nothing must be left: %v", got)
	}
}

// answered returns the requests that were answered with a status code.
func answered(r kube.Requests, code int) kube.Requests {
	var out kube.Requests
	for _, e := range r {
		if e.Code == code {
			out = append(out, e)
		}
	}
	return out
}
