package object_test

import (
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
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

// TestPreviewOfAnObserver shows what an Object that may only look, or that is on a dry run, says of a full manifest:
// each field that differs, and what it would become, that the resource would be created, or why the target refuses it.
// It touches nothing. An Object on a dry run makes what it would create as soon as that is over.
func TestPreviewOfAnObserver(t *testing.T) {
	for name, p := range map[string]struct {
		absent  bool
		data    []string
		want    wantCondition
		message string
		diff    []string
	}{
		"Different": {
			data: []string{"color", "red", "shape", "round"}, want: different,
			message: "Applying the manifest would change data.color, data.shape",
			diff:    []string{`replace /data/color "red"`, `add /data/shape "round"`},
		},
		"Equal": {
			data: []string{"color", "blue"}, want: noDifference,
			message: "Applying the manifest would change nothing",
		},
		"Missing": {
			absent: true, data: []string{"color", "red"}, want: different,
			message: "Applying the manifest would create the resource",
			diff: []string{`add  {"apiVersion":"v1","data":{"color":"red"},` +
				`"kind":"ConfigMap","metadata":{"name":"settings","namespace":"NAMESPACE"}}`},
		},
		"Invalid": {
			data: []string{"a key with spaces", "x"}, want: cannotCompare,
			message: `The dry run of the manifest fails on the target: cannot apply ConfigMap "settings": ` +
				`ConfigMap "settings" is invalid: data[a key with spaces]: ` +
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
						t.Errorf("status.atProvider.diff: -want, +got:\n%s", diff)
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
		want := []string{`replace /data/password "***"`, `add /data/token "***"`}
		if diff := cmp.Diff(want, patchOf(t, o)); diff != "" {
			t.Errorf("status.atProvider.diff: -want, +got:\n%s", diff)
		}

		m["stringData"] = map[string]any{"password": 31337}
		setManifest(t, w.c, o, m)
		refused := awaitCondition(t, w.c, o, cannotCompare, "stringData.password is not a string")
		if strings.Contains(refused, "31337") {
			t.Errorf("message about a value of a Secret: want the field and not the value, got %q", refused)
		}
		if patchOf(t, o) != nil {
			t.Errorf("diff of a refused manifest: want none, got %q", patchOf(t, o))
		}
	})
}

// TestPreviewBesideBrokenWebhook shows that a comparison which the target cannot make, as a webhook of it is down, is
// said in its own condition: those of the resource and of the observation are as they are without it.
func TestPreviewBesideBrokenWebhook(t *testing.T) {
	t.Parallel() // It waits for a retry.
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
	awaitCondition(t, c, o, cannotCompare, "dry run of the manifest fails", "failed calling webhook")
	if s := o.GetCondition(xpv2.TypeSynced); s.Status != corev1.ConditionTrue {
		t.Errorf("want the Object synced, got %s", conditions(o))
	}
	staysUnwritten(t, c, o)
	kube.Delete(t, tc, hook)
	awaitCondition(t, c, o, different, "data")
}

// onDryRun annotates an Object that is not created yet.
func onDryRun(o build.Object) build.Object {
	o.SetAnnotations(map[string]string{commonv1.AnnotationKeyDryRun: "true"})
	return o
}

// TestDryRunChangesNothing shows that an Object which gets the annotation stops to keep its resource, says what it
// would change as manifest and resource change, and does it when the annotation goes.
func TestDryRunChangesNothing(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		c, tc := w.c, w.tc
		o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue", "shape", "round"))
		setDryRun(t, c, o, `"true"`)
		awaitCondition(t, c, o, noDifference)

		// A field that the manifest gives up is one that an apply would remove.
		setManifest(t, c, o, build.ConfigMap(w.target, "settings", "color", "red"))
		awaitFields(t, c, o, "data.color, data.shape")
		want := []string{`replace /data/color "red"`, `remove /data/shape`}
		if diff := cmp.Diff(want, patchOf(t, o)); diff != "" {
			t.Errorf("status.atProvider.diff: -want, +got:\n%s", diff)
		}
		cm := w.awaitData(t, "settings", "color", "blue", "shape", "round")
		cm.Data, cm.Labels = map[string]string{"color": "green"}, nil
		kube.Update(t, tc, cm)
		awaitFields(t, c, o, "data.color")
		awaitReady(t, c, o)
		w.awaitData(t, "settings", "color", "green")

		setDryRun(t, c, o, "null")
		awaitNoPreview(t, c, o)
		cm = w.awaitData(t, "settings", "color", "red")
		if got := cm.Labels[commonv1.LabelKeyManaged]; got != commonv1.LabelValueManaged {
			t.Errorf("label after the dry run: want %q, got %q", commonv1.LabelValueManaged, got)
		}
	})
}

// TestDryRunOfJob shows that a dry run of a Job which is as it should be would change nothing, although a server gives
// a Job without labels those of its template.
func TestDryRunOfJob(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		o := w.object(parse(t, `{"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":"`+w.target+`","name":"once"},
			"spec":{"suspend":true,"template":{"metadata":{"labels":{"app":"once"}},
				"spec":{"restartPolicy":"Never","containers":[{"name":"once","image":"once"}]}}}}`).Object)
		createReady(t, w.c, o)
		setDryRun(t, w.c, o, `"true"`)
		awaitMessage(t, w.c, o, noDifference, "Applying the manifest would change nothing")
	})
}

// TestDryRunForAnotherResource shows that an Object does not forget the resource it has made when its manifest names
// another on a dry run, and that it still deletes that one when the manifest names it again.
func TestDryRunForAnotherResource(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		theirs := &corev1.ConfigMap{ObjectMeta: build.Meta(w.target, "theirs")}
		kube.Create(t, w.tc, theirs)
		o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
		ours := w.awaitData(t, "settings", "color", "blue")
		setDryRun(t, w.c, o, `"true"`)
		setManifest(t, w.c, o, build.ConfigMap(w.target, "theirs", "color", "blue"))
		awaitCondition(t, w.c, o, different)
		if got := observed(t, o).GetUID(); got != ours.GetUID() {
			t.Errorf("status.atProvider.manifest.metadata.uid: want that of the resource the Object has made, %s, got %s",
				ours.GetUID(), got)
		}
		setManifest(t, w.c, o, build.ConfigMap(w.target, "settings", "color", "blue"))
		setDryRun(t, w.c, o, "null")
		awaitNoPreview(t, w.c, o)
		kube.Delete(t, w.c, o)
		kube.AwaitGone(t, w.tc, ours)
		w.exists(t, theirs, true)
	})
}

// TestDryRunDeletesNothing shows that an Object deleted on a dry run goes and leaves its resource, and says so, be the
// target there or not.
func TestDryRunDeletesNothing(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
		setDryRun(t, w.c, o, `"true"`)
		awaitCondition(t, w.c, o, noDifference)
		kube.Remove(t, w.c, o)
		w.awaitData(t, "settings", "color", "blue")
		awaitEvent(t, w.c, o, leftResource)

		w.config = connectAs(t, w, nowhere(kube.Refused(t)))
		lost := onDryRun(w.keeper("lost"))
		kube.Create(t, w.c, lost)
		awaitCondition(t, w.c, lost, failed(commonv1.ReasonTargetUnreachable))
		kube.Remove(t, w.c, lost)
	})
}

// TestSettledPreviewIsSilent shows that a preview is asked for once: neither passes of the reconciler cost a request
// nor changes of what an apply cannot change, whether the target finds a difference, none, or fault with the manifest,
// or may not be asked.
func TestSettledPreviewIsSilent(t *testing.T) {
	t.Parallel()
	c, tc := provide(t), target.Client(t)
	for name, p := range map[string]struct {
		data []string
		want wantCondition
	}{
		"Different":     {data: []string{"color", "red"}, want: different},
		"NoDifference":  {data: []string{"color", "blue"}, want: noDifference},
		"CannotCompare": {data: []string{"a b", "c"}, want: cannotCompare},
		"Forbidden":     {data: []string{"color", "red"}, want: cannotCompare},
	} {
		t.Run(name, func(t *testing.T) {
			forScopesBeside(t, func(t *testing.T, s build.Scope) {
				group := "system:masters"
				if name == "Forbidden" {
					group = "nobody"
				}
				w := newWorldAs(t, c, s, group)
				role, binding := build.RightsIn(w.target, w.user, build.User(w.user), looking...)
				kube.Create(t, tc, role, binding, blue(w.target))
				o := w.object(build.ConfigMap(w.target, "settings", p.data...))
				o.SetManagementPolicies(observeOnly)
				kube.Create(t, c, o)
				awaitCondition(t, c, o, p.want)
				awaitReady(t, c, o)

				mark := target.Audit(t).Mark()
				w.asksNothing(t, o)
				awaitCondition(t, c, o, p.want)
				staysUnwritten(t, c, o)

				cm := w.awaitData(t, "settings", "color", "blue")
				cm.Data["step"] = "next"
				kube.Update(t, tc, cm)
				awaitObserved(t, c, o, cm.Data)
				w.checkAsked(t, mark, map[string]int{"patch configmaps": 1})
			})
		})
	}
}
