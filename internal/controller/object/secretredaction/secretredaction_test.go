// Package secretredaction_test shows what a provider records that was told to keep Secrets and managed fields out of
// status, and to log changes.
package secretredaction_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	changelogs "github.com/crossplane/crossplane-runtime/v2/apis/changelogs/proto/v1alpha1"
	xpcontroller "github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/internal/changelog"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/object"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	service "github.com/crossplane-contrib/provider-kcp/internal/test/changelogs"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

const (
	// password and later are values that nothing but the target and the connection secret may hold.
	password = "hunter2-hunter2"
	later    = "correct-horse"
)

var local, target kube.Server

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &target)) }

// values are all forms in which the values might be told.
func values() []string {
	encode := base64.StdEncoding.EncodeToString
	return []string{password, later, encode([]byte(password)), encode([]byte(later))}
}

// A journal is what the provider logs. Its methods may be called concurrently.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to the journal.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// String returns all that was written.
func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// A deployment is a provider that runs with a change log service and a journal of all it can log, until the test ends.
type deployment struct {
	client.Client // of the control plane

	changes *service.Service
	log     *journal
}

// provide starts the provider.
func provide(t *testing.T) deployment {
	t.Helper()
	j := &journal{}
	s := service.Serve(t)
	l, err := changelog.Dial(s.Socket)
	if err != nil {
		t.Fatal(err)
	}
	local.InstallCRDs(t, filepath.Join("..", "..", "..", "..", "package", "crds"))
	ctx, cancel := context.WithCancel(context.Background())
	wait := provider.StartUntil(t, ctx, local.User(t, "provider", "system:masters"), func(o *object.Options) {
		o.SanitizeSecrets, o.RemoveManagedFields = true, true
		o.ChangeLogOptions = &xpcontroller.ChangeLogOptions{ChangeLogger: l}
		o.Logger = logging.NewLogrLogger(zap.New(zap.WriteTo(j), zap.UseDevMode(true)))
	})
	t.Cleanup(func() { cancel(); wait() })
	return deployment{Client: local.Client(t, apis.AddToScheme), changes: s, log: j}
}

// credentials returns the manifest of a Secret.
func credentials(namespace, name, value string) build.Manifest {
	return build.Manifest{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": namespace, "name": name},
		"stringData": map[string]any{"password": value},
	}
}

// TestNothingIsTold shows that the values of a Secret reach the target and the connection secret, and neither the
// status of the Object, nor its events, nor the log at its highest verbosity, nor the change logs; in the whole life of
// an Object made by kubectl that adopts a Secret made by kubectl.
//
// A defect of provider-kubernetes: the annotation of kubectl stays in the status, and whole Objects are logged.
func TestNothingIsTold(t *testing.T) {
	d := provide(t)
	c, changes, log := d.Client, d.changes, d.log
	tc := target.Client(t)
	for _, s := range build.Scopes() {
		t.Run(s.Name, func(t *testing.T) {
			tns, ns := target.Namespace(t), local.Namespace(t)
			applied, err := json.Marshal(credentials(tns, "database", password))
			if err != nil {
				t.Fatal(err)
			}
			adopted := &corev1.Secret{
				ObjectMeta: build.Meta(tns, "database"), Data: map[string][]byte{"password": []byte(password)},
			}
			adopted.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: string(applied)}
			o := s.Object(ns, tns, ns, credentials(tns, "database", password))
			takePassword(o, ns, tns)
			written, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			o.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: string(written)})
			kube.Create(t, tc, adopted)
			kube.Create(t, c, kubeconfigOf(t, ns, "provider"), s.Config(ns, ns, build.FromSecret(ns, "credentials")), o)
			awaitPublished(t, c, ns, password)
			checkStatus(t, c, o)

			kube.Edit(t, c, o, func() { o.Desired().ForProvider.Manifest = build.Raw(credentials(tns, "database", later)) })
			awaitPublished(t, c, ns, later)
			checkStatus(t, c, o)

			kube.Remove(t, c, o)
			checkEvents(t, c)
			checkChanges(t, changes.Of(o.GetName()))
			checkLog(t, log.String(), o.GetName())
		})
	}
}

// takePassword makes an Object publish the password of its Secret.
func takePassword(o build.Object, namespace, targetNamespace string) {
	build.WriteConnectionSecret(o, types.NamespacedName{Namespace: namespace, Name: "connection"})
	from := corev1.ObjectReference{
		Kind: "Secret", Namespace: targetNamespace, Name: "database", FieldPath: "data.password",
	}
	o.Desired().ConnectionDetails = append(o.Desired().ConnectionDetails, build.ConnectionDetail(from, "password"))
}

// kubeconfigOf returns a Secret by which the provider reaches the target as a user.
func kubeconfigOf(t *testing.T, namespace, user string) client.Object {
	t.Helper()
	return build.Credentials(namespace, "credentials", kube.Kubeconfig(t, target.User(t, user, "system:masters")))
}

// awaitPublished waits until the connection secret holds a password.
func awaitPublished(t *testing.T, c client.Client, namespace, want string) {
	t.Helper()
	s := &corev1.Secret{}
	kube.Eventually(t, "the connection secret", func() (bool, string) {
		err := c.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: "connection"}, s)
		return err == nil && string(s.Data["password"]) == want, fmt.Sprint(err, s.Data)
	})
}

// checkStatus checks that the status shows the Secret without values and managed fields.
func checkStatus(t *testing.T, c client.Client, o build.Object) {
	t.Helper()
	seen := map[string]any{}
	kube.Eventually(t, "the Object to be ready and to show a Secret without values", func() (bool, string) {
		kube.Get(t, c, client.ObjectKeyFromObject(o), o)
		tellsNothing(t, "status.atProvider", string(o.Observed().Manifest.Raw))
		clear(seen)
		if r := o.GetCondition(xpv2.TypeReady); r.Status != corev1.ConditionTrue ||
			len(o.Observed().Manifest.Raw) == 0 {
			return false, r.Message
		}
		if err := json.Unmarshal(o.Observed().Manifest.Raw, &seen); err != nil {
			t.Fatal(err)
		}
		// A status that was saved beside somebody's change lacks the null until the next pass.
		diff := cmp.Diff(map[string]any{"redacted": nil}, seen["data"])
		return diff == "", diff
	})
	if _, ok := seen["metadata"].(map[string]any)["managedFields"]; ok {
		t.Error("status.atProvider.manifest has managed fields")
	}
}

func checkEvents(t *testing.T, c client.Client) {
	t.Helper()
	events := &corev1.EventList{}
	kube.List(t, c, events)
	for _, e := range events.Items {
		tellsNothing(t, "event "+e.Reason, e.Message)
	}
}

// checkLog checks that the log tells of an Object, and no value.
func checkLog(t *testing.T, text, name string) {
	t.Helper()
	if !strings.Contains(text, name) {
		t.Errorf("the log does not tell of %s:\n%s", name, text)
	}
	for line := range strings.Lines(text) {
		tellsNothing(t, "log", line)
	}
}

// checkChanges checks that each kind of change is logged, with the Object as it was, but for the values.
func checkChanges(t *testing.T, entries []*changelogs.ChangeLogEntry) {
	t.Helper()
	got := map[string]bool{}
	for _, e := range entries {
		got[e.GetOperation().String()] = true
		tellsNothing(t, "change log", e.String())
		spec := e.GetSnapshot().GetFields()["spec"].GetStructValue()
		manifest := spec.GetFields()["forProvider"].GetStructValue().GetFields()["manifest"]
		if k := manifest.GetStructValue().GetFields()["kind"].GetStringValue(); k != "Secret" {
			t.Errorf("kind of the manifest in the snapshot of a change: want Secret, got %q", k)
		}
	}
	want := map[string]bool{"OPERATION_TYPE_CREATE": true, "OPERATION_TYPE_UPDATE": true, "OPERATION_TYPE_DELETE": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operations in the change logs: -want, +got:\n%s", diff)
	}
}

// tellsNothing checks that a text has no value in it.
func tellsNothing(t *testing.T, what, text string) {
	t.Helper()
	for _, v := range values() {
		if strings.Contains(text, v) {
			t.Errorf("%s tells %q: %s", what, v, text)
		}
	}
}
