// Package openshift makes namespaces admit pods as OpenShift does. It is for _test.go files only.
//
// The server checks what OpenShift's restricted-v2 has in common with the Pod Security Standard restricted: no root, no
// capabilities, no privileges, a profile of seccomp, volumes without files of the node. Two policies do the rest.
package openshift

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// FirstUser is the user of pods that set none.
const FirstUser int64 = 1000680000

//go:embed policy.yaml
var policies []byte

// Project makes a namespace a project of OpenShift, which admits pods by restricted-v2, and creates it if it does not
// exist.
func Project(tb testing.TB, c client.Client, name string) {
	tb.Helper()
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(policies), len(policies)+1); ; {
		u := &unstructured.Unstructured{}
		err := d.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = client.IgnoreAlreadyExists(c.Create(tb.Context(), u))
		}
		if err != nil {
			tb.Fatalf("cannot create policy: %v", err)
		}
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := client.IgnoreAlreadyExists(c.Create(tb.Context(), ns)); err != nil {
		tb.Fatal(err)
	}
	kube.Patch(tb, c, ns, fmt.Sprintf(`{"metadata":{
		"labels":{"pod-security.kubernetes.io/enforce":"restricted","security.openshift.io/scc.podSecurityLabelSync":"true"},
		"annotations":{"openshift.io/sa.scc.uid-range":"%d/10000"}}}`, FirstUser))
	restricted := &corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{Name: "any", Image: "any", SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}}},
	}
	kube.Eventually(tb, "pods without a user to get one", func() (bool, string) {
		p, err := Admit(tb, c, name, *restricted)
		return err == nil && p.Spec.SecurityContext.RunAsUser != nil && *p.Spec.SecurityContext.RunAsUser == FirstUser,
			fmt.Sprint(err)
	})
	restricted.Containers[0].SecurityContext.RunAsUser = new(int64(2000))
	kube.Eventually(tb, "pods with another user to be refused", func() (bool, string) {
		_, err := Admit(tb, c, name, *restricted)
		return err != nil && strings.Contains(err.Error(), "in the range of the namespace"), fmt.Sprint(err)
	})
}

// Admit has a namespace admit a pod without creating it. The pod uses the ServiceAccount of the namespace.
func Admit(tb testing.TB, c client.Client, namespace string, spec corev1.PodSpec) (*corev1.Pod, error) {
	tb.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "any"}, Spec: *spec.DeepCopy()}
	p.Spec.ServiceAccountName = ""
	return p, c.Create(tb.Context(), p, client.DryRunAll)
}
