package object_test

import (
	"fmt"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

var (
	// different is condition UpToDate of an Object whose manifest would change something.
	different = wantCondition{
		Type: commonv1.TypeUpToDate, Status: corev1.ConditionFalse, Reason: commonv1.ReasonDifferent,
	}
	// noDifference is condition UpToDate of an Object whose manifest would change nothing.
	noDifference = wantCondition{
		Type: commonv1.TypeUpToDate, Status: corev1.ConditionTrue, Reason: commonv1.ReasonNoDifference,
	}
	// cannotCompare is condition UpToDate of an Object whose manifest is refused.
	cannotCompare = wantCondition{
		Type: commonv1.TypeUpToDate, Status: corev1.ConditionFalse, Reason: commonv1.ReasonCannotCompare,
	}
)

// blue returns a ConfigMap that somebody else has made.
func blue(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: build.Meta(namespace, "settings"),
		Data:       map[string]string{"color": "blue"},
	}
}

// patchOf returns the diff of an Object as JSON operations.
func patchOf(t *testing.T, o build.Object) []string {
	t.Helper()
	var ops []string
	for _, op := range o.Observed().Diff {
		value := ""
		if op.Value != nil {
			value = " " + string(op.Value.Raw)
		}
		ops = append(ops, op.Op+" "+op.Path+value)
	}
	return ops
}

// setDryRun sets the annotation of a dry run to "true", or removes it if value is "null".
func setDryRun(t *testing.T, c client.Client, o build.Object, value string) {
	t.Helper()
	patch := `{"metadata":{"annotations":{"` + commonv1.AnnotationKeyDryRun + `":` + value + `}}}`
	kube.Patch(t, c, o, patch)
}

// awaitNoPreview waits until an Object says nothing of changes.
func awaitNoPreview(t *testing.T, c client.Client, o build.Object) {
	t.Helper()
	kube.Await(t, c, o, o.GetName()+" to say nothing of changes", func() (bool, string) {
		u := o.GetCondition(commonv1.TypeUpToDate)
		return u.Status == corev1.ConditionUnknown && o.Observed().Diff == nil && o.Observed().Compared == "",
			string(u.Status) + " " + u.Message
	})
}

// awaitFields waits until condition UpToDate names some fields.
func awaitFields(t *testing.T, c client.Client, o build.Object, fields string) {
	t.Helper()
	kube.Await(t, c, o, "condition UpToDate to name "+fields, func() (bool, string) {
		m := o.GetCondition(commonv1.TypeUpToDate).Message
		return m == "Applying the manifest would change "+fields, m
	})
}

// TestPreviewOfAnObserver shows what an Object that may only look, or that is on a dry run, says of a full manifest,
// and that it touches nothing. An Object on a dry run makes what it would create as soon as that is over.
func TestPreviewOfAnObserver(t *testing.T) {
	for name, p := range map[string]struct {
		reason  string
		absent  bool
		data    []string
		want    wantCondition
		message string
		diff    []string
	}{
		"Different": {
			reason: "Each field that differs is named, and what it would become.",
			data:   []string{"color", "red", "shape", "round"}, want: different,
			message: "Applying the manifest would change data.color, data.shape",
			diff:    []string{`replace /data/color "red"`, `add /data/shape "round"`},
		},
		"Equal": {
			reason: "A manifest that is fulfilled says so, be the fields somebody else's.",
			data:   []string{"color", "blue"}, want: noDifference,
			message: "Applying the manifest would change nothing",
		},
		"Missing": {
			reason: "A resource that does not exist would be created.", absent: true,
			data: []string{"color", "red"}, want: different, message: "Applying the manifest would create the resource",
			diff: []string{`add  {"apiVersion":"v1","data":{"color":"red"},` +
				`"kind":"ConfigMap","metadata":{"name":"settings","namespace":"NAMESPACE"}}`},
		},
		"Invalid": {
			reason: "A manifest that the target refuses does not keep the Object from observing.",
			data:   []string{"a key with spaces", "x"}, want: cannotCompare,
			message: `The target refuses the manifest: cannot apply ConfigMap "settings": ConfigMap "settings" is invalid: ` +
				`data[a key with spaces]: ` +
				`Invalid value: "a key with spaces": a valid config key must consist of alphanumeric characters, '-', '_' or '.' ` +
				`(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`,
		},
	} {
		for _, dry := range []bool{false, true} {
			t.Run(name+map[bool]string{true: "OnDryRun"}[dry], func(t *testing.T) {
				forWorlds(t, func(t *testing.T, w world) {
					if !p.absent {
						kube.Create(t, w.tc, blue(w.target))
					}
					o := w.object(build.ConfigMap(w.target, "settings", p.data...))
					if onDryRun(o); !dry {
						o.SetAnnotations(nil)
						o.SetManagementPolicies(observeOnly)
					}
					kube.Create(t, w.c, o)
					awaitMessage(t, w.c, o, p.want, p.message)
					want := strings.ReplaceAll(strings.Join(p.diff, "\n"), "NAMESPACE", w.target)
					if diff := cmp.Diff(want, strings.Join(patchOf(t, o), "\n")); diff != "" {
						t.Errorf("%s\nstatus.atProvider.diff: -want, +got:\n%s", p.reason, diff)
					}
					if !p.absent {
						awaitReady(t, w.c, o)
						if got := w.awaitData(t, "settings", "color", "blue"); len(got.Labels) > 0 {
							t.Errorf("labels of a resource that is only looked at: %v", got.Labels)
						}
						return
					}
					w.exists(t, emptySettings(w.target), false)
					if dry {
						setDryRun(t, w.c, o, "null")
						awaitReady(t, w.c, o)
						awaitNoPreview(t, w.c, o)
						w.awaitData(t, "settings", "color", "red")
					}
				})
			})
		}
	}
}

// TestNoPreviewOfAnIdentity shows that an Object which only says what to look at says nothing of changes, and asks for
// none.
func TestNoPreviewOfAnIdentity(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorldAs(t, c, s, "system:masters")
		kube.Create(t, w.tc, blue(w.target))
		m := build.ConfigMap(w.target, "settings")
		delete(m, "data")
		o := w.object(m)
		o.SetManagementPolicies(observeOnly)
		createReady(t, c, o)
		awaitNoPreview(t, c, o)
		if n := target.Audit(t).Since(kube.Mark{}).By(w.user).Count()["patch configmaps"]; n > 0 {
			t.Errorf("dry runs for an Object that only names a resource: want none, got %d", n)
		}

		setManifest(t, c, o, build.ConfigMap(w.target, "settings", "color", "red"))
		awaitFields(t, c, o, "data.color")
		setManifest(t, c, o, m)
		awaitNoPreview(t, c, o)
	})
}

// TestPreviewMasksSecrets shows that a preview of a Secret tells which values would change, and none of them; nor does
// the answer of a target that refuses one.
func TestPreviewMasksSecrets(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		kube.Create(t, w.tc, &corev1.Secret{
			ObjectMeta: build.Meta(w.target, "login"),
			Data:       map[string][]byte{"password": []byte("hunter2"), "user": []byte("admin")},
		})
		m := build.Manifest{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "login", "namespace": w.target},
			"stringData": map[string]any{"password": "swordfish", "user": "admin", "token": "sesame"},
		}
		o := w.object(m)
		o.SetManagementPolicies(observeOnly)
		kube.Create(t, w.c, o)
		awaitFields(t, w.c, o, "data.password, data.token")
		want := []string{`replace /data/password "*** (after)"`, `add /data/token "***"`}
		if diff := cmp.Diff(want, patchOf(t, o)); diff != "" {
			t.Errorf("status.atProvider.diff: -want, +got:\n%s", diff)
		}

		m["stringData"] = map[string]any{"password": 31337}
		setManifest(t, w.c, o, m)
		refused := awaitCondition(t, w.c, o, cannotCompare, ".stringData.password")
		if strings.Contains(refused, "31337") {
			t.Errorf("message about a value of a Secret: want the field and not the value, got %q", refused)
		}
		if patchOf(t, o) != nil {
			t.Errorf("diff of a refused manifest: want none, got %q", patchOf(t, o))
		}
	})
}

// viewerRights returns what lets a user look at ConfigMaps, and no more.
func viewerRights(namespace, who string) (*rbacv1.Role, *rbacv1.RoleBinding) {
	role, binding := namespaceRights(namespace, who)
	role.Rules[0].Verbs = []string{"get", "list", "watch"}
	return role, binding
}

// TestPreviewNeedsNoRights shows that credentials which may only look are enough: without a dry run the fields of the
// manifest are compared here. provider-kubernetes asked for the right to patch (its #502).
func TestPreviewNeedsNoRights(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorldAs(t, c, s)
		role, binding := viewerRights(w.target, w.user)
		kube.Create(t, tc, role, binding, blue(w.target))
		o := w.object(build.ConfigMap(w.target, "settings", "color", "red"))
		o.SetManagementPolicies(observeOnly)
		kube.Create(t, c, o)
		const want = "Applying the manifest would change data.color; compared without the defaults of the target, " +
			"which does not try it: "
		if message := awaitCondition(t, c, o, different, want, "cannot patch resource"); !strings.HasPrefix(message,
			want) {
			t.Errorf("message of condition UpToDate: want one that begins with %q, got %q", want, message)
		}
		awaitReady(t, c, o)
		setManifest(t, c, o, build.ConfigMap(w.target, "settings", "color", "blue"))
		awaitCondition(t, c, o, noDifference)
		awaitReady(t, c, o)

		// Given the right, the user asks for another comparison.
		role.Rules[0].Verbs = append(role.Rules[0].Verbs, "patch")
		kube.Update(t, tc, role)
		asked := 0
		kube.Eventually(t, "a comparison by the target", func() (bool, string) {
			asked++
			kube.Patch(t, c, o, fmt.Sprintf(
				`{"metadata":{"annotations":{"crossplane.io/reconcile-requested-at":"%d"}}}`, asked))
			m := o.GetCondition(commonv1.TypeUpToDate).Message
			return m == "Applying the manifest would change nothing", m
		})
	})
}

// TestPreviewInMissingNamespace shows that an Object says what it would create although there is no namespace for it
// yet.
func TestPreviewInMissingNamespace(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		o := w.object(build.ConfigMap(w.target+"-later", "settings", "color", "red"))
		kube.Create(t, w.c, onDryRun(o))
		awaitCondition(t, w.c, o, different, "would create", "not found")
		awaitCondition(t, w.c, o, synced)
	})
}

// TestPreviewBesideBrokenWebhook shows that a comparison which the target cannot make, as a webhook of it is down, is
// said in its own condition: those of the resource and of the observation are as they are without it.
func TestPreviewBesideBrokenWebhook(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	w := newWorld(t, c, build.Namespaced())
	kube.Create(t, tc, emptySettings(w.target))
	hook := parse(t, `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration",
		"metadata":{"name":"`+w.target+`"},"webhooks":[{"name":"down.test.example.org",
			"admissionReviewVersions":["v1"],"sideEffects":"None","failurePolicy":"Fail",
			"clientConfig":{"url":"https://127.0.0.1:1"},
			"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"`+w.target+`"}},
			"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["*"],"resources":["configmaps"]}]}]}`)
	kube.Create(t, tc, hook)
	o := w.object(build.ConfigMap(w.target, "settings", "color", "blue"))
	o.SetManagementPolicies(observeOnly)
	createReady(t, c, o)
	awaitCondition(t, c, o, cannotCompare, "cannot try to apply the manifest", "failed calling webhook")
	if s := o.GetCondition(xpv2.TypeSynced); s.Status != corev1.ConditionTrue {
		t.Errorf("want the Object synced, got %s", conditions(o))
	}
	staysUnwritten(t, c, o)
	kube.Delete(t, tc, hook)
	awaitCondition(t, c, o, different, "data")
}
