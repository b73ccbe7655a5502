package e2e_test

import (
	"fmt"
	"strconv"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

func TestProviderConfigInUseStays(t *testing.T) {
	c, _ := clients(t)
	start(t)
	for _, s := range append(build.Scopes(), shared()) {
		t.Run(s.Name, func(t *testing.T) {
			ns := credentials(t, c)
			pc := connect(t, c, s, ns)
			tns := target.Namespace(t)
			users := []build.Object{
				s.Object(ns, tns+"-1", ns, build.ConfigMap(tns, "one")),
				s.Object(ns, tns+"-2", ns, build.ConfigMap(tns, "two")),
			}
			for _, o := range users {
				kube.Create(t, c, o)
				awaitReady(t, c, o)
			}
			awaitUsers(t, c, pc, 2)

			kube.Delete(t, c, pc)
			kube.Delete(t, c, users[0])
			// That the first user's end is counted says that the deletion has been looked at, too.
			awaitGone(t, c, users[0])
			awaitUsers(t, c, pc, 1)
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(pc), pc); err != nil {
				t.Fatalf("a ProviderConfig in use must stay: %v", err)
			}
			if pc.GetDeletionTimestamp() == nil {
				t.Error("the ProviderConfig must be marked as deleted")
			}

			kube.Delete(t, c, users[1])
			awaitGone(t, c, users[1])
			awaitGone(t, c, pc)
		})
	}
}

// awaitUsers waits until a ProviderConfig says how many users it has.
func awaitUsers(t *testing.T, c client.Client, pc client.Object, want int64) {
	t.Helper()
	kube.Eventually(t, fmt.Sprintf("%d users of ProviderConfig %q", want, pc.GetName()), func() (bool, string) {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(pc), pc); err != nil {
			return false, err.Error()
		}
		got := pc.(resource.ProviderConfig).GetUsers()
		return got == want, strconv.FormatInt(got, 10)
	})
}

// awaitGone waits until an object does not exist.
func awaitGone(t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	kube.Eventually(t, fmt.Sprintf("%T %q to be gone", o, o.GetName()), func() (bool, string) {
		err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		return apierrors.IsNotFound(err),
			fmt.Sprintf("%v, deleted at %v, finalizers %v", err, o.GetDeletionTimestamp(), o.GetFinalizers())
	})
}
