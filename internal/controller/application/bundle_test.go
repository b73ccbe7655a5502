package application_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// bundle returns 50 templates of the kinds that the design document counts in GitLab, the rest ServiceAccounts. Nothing
// in them runs, so that their status comes to rest.
func (w world) bundle(prefix string) []workloadv1alpha1.ResourceTemplate {
	var out []workloadv1alpha1.ResourceTemplate
	add := func(n int, kind string, manifest func(name string) build.Manifest) {
		for i := range n {
			name := fmt.Sprintf("%s-%s-%d", prefix, kind, i)
			out = append(out, build.ResourceTemplate(name, manifest(name)))
		}
	}
	of := func(version, kind, name string, more build.Manifest) build.Manifest {
		m := build.Manifest{
			"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": name, "namespace": w.tns},
		}
		maps.Copy(m, more)
		return m
	}
	pods := func(name string, more map[string]any) map[string]any {
		spec := build.Deployment(w.tns, name)["spec"].(map[string]any)
		maps.Copy(spec, more)
		return spec
	}
	add(14, "deployment", func(n string) build.Manifest { return build.Deployment(w.tns, n) })
	add(1, "statefulset", func(n string) build.Manifest {
		return of("apps/v1", "StatefulSet", n, build.Manifest{"spec": pods(n, map[string]any{"serviceName": n})})
	})
	add(3, "job", func(n string) build.Manifest {
		template := pods(n, nil)["template"].(map[string]any)
		template["spec"].(map[string]any)["restartPolicy"] = "Never"
		return of("batch/v1", "Job", n, build.Manifest{"spec": map[string]any{"suspend": true, "template": template}})
	})
	add(9, "service", func(n string) build.Manifest {
		return of("v1", "Service", n, build.Manifest{"spec": map[string]any{
			"ports": []any{map[string]any{"port": 80}}, "selector": map[string]any{"app": n},
		}})
	})
	add(16, "configmap", func(n string) build.Manifest { return build.ConfigMap(w.tns, n, "color", "blue") })
	add(7, "serviceaccount", func(n string) build.Manifest { return of("v1", "ServiceAccount", n, nil) })
	return out
}

// TestBundle shows that an application of the size of GitLab is submitted in under 5 s, and that at rest it costs no
// request.
func TestBundle(t *testing.T) {
	w, n := newWorld(t), 0
	warm := w.application("warm", w.bundle("warm")...)
	w.submit(t, warm)
	kube.Figure(t, "50 templates to be submitted", func() time.Duration {
		n++
		name := fmt.Sprintf("gitlab-%d", n)
		app := w.application(name, w.bundle(name)...)
		began := time.Now()
		w.submit(t, app)
		return time.Since(began)
	})
	w.atRest(t)
}

// atRest waits until the provider asks nothing in the namespaces of a world while its queues are passed, and checks
// that this stays so. What other tests have left behind may still be tried in theirs.
func (w world) atRest(t *testing.T) {
	t.Helper()
	l, r := local.Audit(t), target.Audit(t)
	var lm, rm kube.Mark
	asked := func() (bool, string) {
		all := append(in(l.Since(lm).By(user), w.ns), in(r.Since(rm).By(user), w.tns)...)
		return len(all) == 0, all.String()
	}
	kube.Eventually(t, "no request", func() (bool, string) {
		lm, rm = l.Mark(), r.Mark()
		passQueues(t)
		return asked()
	})
	kube.Holds(t, "no request", asked, func() { passQueues(t) })
}

// in returns the requests in a namespace.
func in(r kube.Requests, namespace string) kube.Requests {
	var out kube.Requests
	for _, e := range r {
		if e.Namespace == namespace {
			out = append(out, e)
		}
	}
	return out
}
