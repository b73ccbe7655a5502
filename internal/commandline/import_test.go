package commandline_test

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/commandline"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

// release is what a Helm release and its surroundings leave in a namespace: who wrote it, and what.
var release = []struct{ manager, manifest string }{
	{"helm", deployment + template + `"1"}}}]}}}}`},
	{"helm", service + `ports: [{name: http, port: 80}]}}`},
	{"helm", secret + `stringData: {password: hunter2}}`},
	{"kubectl-client-side-apply", labelled + `annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}}, ` +
		`data: {color: blue}}`},
	{"controller", `{apiVersion: v1, kind: ConfigMap, metadata: {name: owned, namespace: $T, ownerReferences: [` +
		`{apiVersion: apps/v1, kind: Deployment, name: web, uid: u, controller: true}]}}`},
	{"another", `{apiVersion: v1, kind: ConfigMap, metadata: {name: ours, namespace: $T, labels: {` +
		commonv1.LabelKeyManaged + `: "true"}}}`},
}

const skipped = `skipped: ConfigMap $T/ours: an Object or an application applies it
skipped: ConfigMap $T/owned: it has a controller: Deployment web
`

// imported returns the documents of Objects with a policy, given their names and manifests.
func imported(policy string, all ...[2]string) string {
	var b strings.Builder
	for _, o := range all {
		b.WriteString("---\napiVersion: kubernetes.m.crossplane.io/v1alpha1\nkind: Object\nmetadata:\n  name: " + o[0] +
			"\nspec:\n  forProvider:\n    manifest:\n      " + strings.ReplaceAll(o[1], "\n", "\n      ") +
			"\n  managementPolicies:\n  - " + policy + "\n  providerConfigRef:\n    kind: ProviderConfig\n    name: $L\n")
	}
	return b.String()
}

var (
	adopted = imported("'*'",
		[2]string{"deployment-web", `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: $T
spec:
  progressDeadlineSeconds: 600
  revisionHistoryLimit: 10
  selector:
    matchLabels:
      a: b
  strategy:
    rollingUpdate:
      maxSurge: 25%
      maxUnavailable: 25%
    type: RollingUpdate
  template:
    metadata:
      labels:
        a: b
    spec:
      containers:
      - image: i
        imagePullPolicy: Always
        name: c
        resources:
          limits:
            cpu: "1"
        terminationMessagePath: /dev/termination-log
        terminationMessagePolicy: File
      dnsPolicy: ClusterFirst
      restartPolicy: Always
      schedulerName: default-scheduler
      securityContext: {}
      terminationGracePeriodSeconds: 30`},
		[2]string{"configmap-settings", `apiVersion: v1
data:
  color: blue
kind: ConfigMap
metadata:
  name: settings
  namespace: $T`},
		[2]string{"service-web", `apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: $T
spec:
  internalTrafficPolicy: Cluster
  ports:
  - name: http
    port: 80
    protocol: TCP
    targetPort: 80
  selector:
    a: b
  sessionAffinity: None
  type: ClusterIP`},
	)
	observed = imported("Observe",
		[2]string{"deployment-web", `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: $T`},
		[2]string{"configmap-settings", `apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  namespace: $T`},
		[2]string{"secret-login", `apiVersion: v1
kind: Secret
metadata:
  name: login
  namespace: $T`},
	)
)

// TestImport shows the Objects of a namespace with a Helm release: they observe, or adopt what authors have written
// without what autoscalers have. A diff of them says nothing, and to adopt changes nothing but managers and our label.
// No value of a Secret is printed.
func TestImport(t *testing.T) {
	w := newWorld(t, build.Namespaced())
	for _, r := range release {
		u := &unstructured.Unstructured{Object: w.manifest(t, r.manifest)}
		if err := w.tc.Create(t.Context(), u, client.FieldOwner(r.manager)); err != nil {
			t.Fatal(err)
		}
	}
	web := &unstructured.Unstructured{Object: w.manifest(t, deployment+`}}`)}
	scale := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": map[string]any{"replicas": int64(5)},
	}}
	scaled := client.WithSubResourceBody(scale)
	if err := w.tc.SubResource("scale").Update(t.Context(), web, scaled, client.FieldOwner("autoscaler")); err != nil {
		t.Fatal(err)
	}
	run := func(adopt bool, kinds ...string) (yaml, said string) {
		t.Helper()
		var b, out strings.Builder
		objects, code, err := commandline.Import(t.Context(), &b, commandline.ImportOptions{
			Target: target.Config(), Kinds: kinds, Namespace: w.target, Selector: "!x", Config: "ProviderConfig/" + w.namespace,
			Adopt: adopt,
		})
		if err != nil || code != 0 {
			t.Fatalf("exit code %d, %v: %s", code, err, b.String())
		}
		if err := objects.WriteText(&out); err != nil {
			t.Fatal(err)
		}
		for _, s := range secretTexts {
			if strings.Contains(out.String()+b.String(), s) {
				t.Errorf("%q of a Secret is in the output:\n%s%s", s, out.String(), b.String())
			}
		}
		opts := options(t, local.Config(), out.String())
		opts.Namespace = w.namespace
		report, err := commandline.Diff(t.Context(), opts)
		if text, _ := texts(t, report); err != nil || report.ExitCode != 0 || text != "" {
			t.Errorf("a diff of the import: exit code %d, %v:\n%s", report.ExitCode, err, text)
		}
		return out.String(), b.String()
	}
	yaml, said := run(false, "deploy", "configmaps", "Secret")
	if diff := gocmp.Diff(w.names(observed+skipped), yaml+said); diff != "" {
		t.Errorf("to observe: -want, +got:\n%s", diff)
	}
	yaml, said = run(true, "deployments.apps", "cm", "secrets", "svc")
	const left = "skipped: Secret $T/login: values of Secrets are not printed: import it without --adopt\n"
	if diff := gocmp.Diff(w.names(adopted+skipped+left), yaml+said); diff != "" {
		t.Errorf("to adopt: -want, +got:\n%s", diff)
	}
	w.adoptsUnchanged(t, yaml)
}

// adoptsUnchanged applies imported Objects, and shows that their resources change in nothing but managers and our
// label.
func (w world) adoptsUnchanged(t *testing.T, yaml string) {
	t.Helper()
	for _, text := range strings.Split(yaml, "---\n")[1:] {
		m := w.manifest(t, text)
		spec := m["spec"].(map[string]any)["forProvider"].(map[string]any)["manifest"].(map[string]any)
		is := func() *unstructured.Unstructured {
			u := &unstructured.Unstructured{Object: spec}
			u = u.DeepCopy()
			kube.Get(t, w.tc, client.ObjectKeyFromObject(u), u)
			u.SetManagedFields(nil)
			u.SetResourceVersion("")
			return u
		}
		before := is()
		o := w.scope.Object(w.namespace, m["metadata"].(map[string]any)["name"].(string), w.namespace, spec)
		kube.Create(t, w.c, o)
		provider.AwaitReady(t, w.c, o)
		after := is()
		unstructured.RemoveNestedField(after.Object, "metadata", "labels") // None had any.
		if diff := gocmp.Diff(before, after); diff != "" {
			t.Errorf("%s has changed when it was adopted: -before, +after:\n%s", nameOf(after), diff)
		}
	}
}

func nameOf(u *unstructured.Unstructured) string { return u.GetKind() + " " + u.GetName() }

// TestImportOfUnknown shows what is said of kinds that cannot be read, with exit code 2, and of a ProviderConfig that
// is none.
func TestImportOfUnknown(t *testing.T) {
	who := target.User(t, local.Namespace(t))
	var b strings.Builder
	objects, code, err := commandline.Import(t.Context(), &b, commandline.ImportOptions{
		Target: who, Kinds: []string{"cats", "configmaps"}, Namespace: "default", Config: "ProviderConfig/x",
	})
	if err != nil || code != commandline.ExitUnknown || len(objects.Items) > 0 {
		t.Errorf("want exit code 2 and no Objects, got %d, %d, %v", code, len(objects.Items), err)
	}
	for _, part := range []string{`not read: cats: `, `not read: configmaps: configmaps is forbidden: User "`} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("want %q, got:\n%s", part, b.String())
		}
	}
	if _, _, err = commandline.Import(t.Context(), &b, commandline.ImportOptions{Target: who, Config: "x"}); err == nil {
		t.Error("a ProviderConfig without a kind: want an error")
	}
}
