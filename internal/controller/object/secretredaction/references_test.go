package secretredaction_test

import (
	"fmt"
	"slices"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

// refersTo makes an Object take the password from the Secret of another.
func refersTo(o build.Object, name, namespace string) {
	o.Desired().References = []commonv1.Reference{{
		PatchesFrom: &commonv1.PatchesFrom{
			Name: name, Namespace: namespace, FieldPath: "status.atProvider.manifest.data.password",
		},
		ToFieldPath: new("data.password"),
	}}
}

// awaitPassword waits until a Secret on the target has a password.
func awaitPassword(t *testing.T, tc client.Client, key types.NamespacedName, want string) {
	t.Helper()
	s := &corev1.Secret{ObjectMeta: build.Meta(key.Namespace, key.Name)}
	kube.Await(t, tc, s, "the password of Secret "+key.String(), func() (bool, string) {
		return string(s.Data["password"]) == want, "it is another one"
	})
}

// A pair are an Object that looks at a Secret, which others write, and one that takes the password from it for a Secret
// of its own.
type pair struct {
	source, reader build.Object
	user           string               // as whom the provider reaches the target
	key            types.NamespacedName // of the reader's Secret on the target
}

// newPair makes a pair and waits until it is settled.
func newPair(t *testing.T, c client.Client, s build.Scope) pair {
	t.Helper()
	tc, tns, ns := target.Client(t), target.Namespace(t), local.Namespace(t)
	p := pair{user: "reader-" + tns, key: types.NamespacedName{Namespace: tns, Name: "reader"}}
	p.source = s.Object(ns, tns+"-source", ns, credentials(tns, "source", password))
	p.source.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve})
	p.reader = s.Object(ns, tns+"-reader", ns, build.Manifest{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": tns, "name": "reader"},
	})
	refersTo(p.reader, p.source.GetName(), p.source.GetNamespace())
	kube.Create(t, tc,
		&corev1.Secret{ObjectMeta: build.Meta(tns, "source"), Data: map[string][]byte{"password": []byte(password)}})
	kube.Create(t, c, kubeconfigOf(t, ns, p.user), s.Config(ns, ns, build.FromSecret(ns, "credentials")), p.reader,
		p.source)
	awaitPassword(t, tc, p.key, password)
	provider.AwaitReady(t, c, p.source)
	provider.AwaitReady(t, c, p.reader)
	return p
}

// checkFollows checks that the reader has what changes in the Secret of the source.
func (p pair) checkFollows(t *testing.T) {
	t.Helper()
	tc := target.Client(t)
	for _, value := range []string{later, password} {
		kube.Patch(t, tc, &corev1.Secret{ObjectMeta: build.Meta(p.key.Namespace, "source")},
			`{"stringData":{"password":"`+value+`"}}`)
		awaitPassword(t, tc, p.key, value)
	}
}

// TestReferenceToWithheldValues shows that an Object takes a value from the Secret of another, whose status does not
// show it, and follows its changes at once, although neither tells anybody; and that it costs no request at rest.
//
// A defect of provider-kubernetes: --sanitize-secrets breaks patches read from status.
func TestReferenceToWithheldValues(t *testing.T) {
	d := provide(t)
	c := d.Client
	for _, s := range build.Scopes() {
		t.Run(s.Name, func(t *testing.T) {
			p := newPair(t, c, s)
			p.checkFollows(t)
			provider.AwaitReady(t, c, p.reader)
			p.staysSilent(t, c, target.Audit(t).Mark(), local.Audit(t).Mark())
			checkStatus(t, c, p.source)
			checkStatus(t, c, p.reader)
			checkEvents(t, c)
			tellsNothing(t, "log", d.log.String())
			for _, cond := range []xpv2.Condition{
				p.reader.GetCondition(xpv2.TypeSynced), p.reader.GetCondition(xpv2.TypeReady),
			} {
				tellsNothing(t, "condition", cond.Message)
			}
			kube.Delete(t, c, p.reader, p.source)
		})
	}
}

// TestWithheldValuesAfterRestart shows that a provider which has just started, and therefore knows no value that no
// status shows, neither writes about that nor applies anything.
func TestWithheldValuesAfterRestart(t *testing.T) {
	d := provide(t)
	pairs := []pair{newPair(t, d, build.Cluster()), newPair(t, d, build.Namespaced())}
	d.stop()
	c := provide(t).Client
	there, here := target.Audit(t).Mark(), local.Audit(t).Mark()
	for _, p := range pairs {
		p.staysSilent(t, c, there, here, "get", "list")
		p.checkFollows(t)
	}
}

// staysSilent checks that the target hears nothing of a pair since a mark, but for some verbs, and that its reader has
// not been written since another, while both are reconciled again.
func (p pair) staysSilent(t *testing.T, c client.Client, there, here kube.Mark, but ...string) {
	t.Helper()
	ns, n := local.Namespace(t), 0
	kube.Holds(t, "no request", func() (bool, string) {
		var asked kube.Requests
		for _, e := range target.Audit(t).Since(there).By(p.user) {
			if !slices.Contains(but, e.Verb) {
				asked = append(asked, e)
			}
		}
		for _, e := range local.Audit(t).Since(here).By("provider") {
			if e.Name == p.reader.GetName() && e.Verb != "get" {
				asked = append(asked, e)
			}
		}
		return len(asked) == 0, asked.String()
	}, func() {
		n++
		for _, o := range []client.Object{p.reader, p.source} {
			kube.Patch(t, c, o, fmt.Sprintf(`{"metadata":{"labels":{"touch":"%d"}}}`, n))
		}
		provider.PassQueue(t, c, ns)
	})
}
