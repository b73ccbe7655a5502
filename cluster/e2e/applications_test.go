package e2e_test

import (
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// killDuring starts the provider and kills it when it has begun a number of writes to both servers since, or is done,
// for each of some numbers. Then it lets one come to its end.
func killDuring(t *testing.T, done func() (bool, string), numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		p, m := start(t), mark(t)
		kube.Eventually(t, fmt.Sprintf("%d writes", n), func() (bool, string) {
			got := len(m.onTarget(t).Writes()) + len(m.onLocal(t).Writes())
			is, _ := done()
			return is || got >= n, strconv.Itoa(got)
		})
		p.Kill()
	}
	last := start(t)
	kube.Eventually(t, "the end of what was interrupted", done)
	awaitSilence(t)
	last.Kill()
}

// parts returns the UIDs of the ConfigMaps of a bundle and of its Secrets, by name.
func parts(t *testing.T, c client.Client, tns string) map[string]types.UID {
	t.Helper()
	uids := map[string]types.UID{}
	for _, kind := range []string{"ConfigMapList", "SecretList"} {
		l := &metav1.PartialObjectMetadataList{}
		l.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
		kube.List(t, c, l, client.InNamespace(tns), client.HasLabels{"kubernetes.crossplane.io/managed"})
		for _, o := range l.Items {
			uids[o.GetName()] = o.GetUID()
		}
	}
	return uids
}

// TestApplicationKilledAtAnyStep shows that an application whose provider is killed while it creates, changes and
// deletes ends as if it had not been, and that nothing is made twice or left behind.
func TestApplicationKilledAtAnyStep(t *testing.T) {
	const n = 20
	c, tc := clients(t)
	ns, tns := credentials(t, c), target.Namespace(t)
	pc := build.Namespaced().Config(ns, ns, build.FromSecret(ns, ns))
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
	killDuring(t, submitted, 1, 3, 25, 40)
	m.checkMadeOnce(t)
	made := parts(t, tc, tns)
	if len(made) != 2*n {
		t.Errorf("want %d resources and as many Secrets, got %d in all", n, len(made))
	}

	kube.Get(t, c, client.ObjectKeyFromObject(app), app)
	app.Spec.ResourceTemplates = bundle(ns, tns, n/2, n+n/2).Spec.ResourceTemplates
	kube.Update(t, c, app)
	killDuring(t, submitted, 2, 15)
	if got := parts(t, tc, tns); len(got) != 2*n || got["part-00"] != "" || got["part-00-sql"] != "" ||
		got["part-15"] != made["part-15"] {
		t.Errorf("want the resources of the templates there are, and no others: %v", got)
	}

	kube.Delete(t, c, app)
	killDuring(t, func() (bool, string) {
		err := c.Get(t.Context(), client.ObjectKeyFromObject(app), app)
		return apierrors.IsNotFound(err), fmt.Sprintf("%+v", app.Status)
	}, 3, 20)
	if got := parts(t, tc, tns); len(got) > 0 {
		t.Errorf("nothing must be left: %v", got)
	}
}
