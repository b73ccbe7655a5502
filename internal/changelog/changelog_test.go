package changelog_test

import (
	"path/filepath"
	"strings"
	"testing"

	changelogs "github.com/crossplane/crossplane-runtime/v2/apis/changelogs/proto/v1alpha1"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/pkg/errors"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	"github.com/crossplane-contrib/provider-kcp/internal/changelog"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	service "github.com/crossplane-contrib/provider-kcp/internal/test/changelogs"
)

func dial(t *testing.T, socket string) managed.ChangeLogger {
	t.Helper()
	l, err := changelog.Dial(socket)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func object() *objectv1alpha2.Object {
	o := &objectv1alpha2.Object{ObjectMeta: build.Meta("", "settings")}
	o.SetGroupVersionKind(objectv1alpha2.ObjectGroupVersionKind)
	o.Spec.ForProvider.Manifest = build.Raw(build.ConfigMap("a", "b"))
	return o
}

func TestLog(t *testing.T) {
	s := service.Serve(t)
	l := dial(t, s.Socket)
	if err := l.Log(t.Context(), object(), changelogs.OperationType_OPERATION_TYPE_UPDATE, errors.New("boom"),
		nil); err != nil {
		t.Fatal(err)
	}
	got := s.Of("settings")
	if len(got) != 1 {
		t.Fatalf("entries: want one, got %v", got)
	}
	e := got[0]
	if e.GetKind() != "Object" || e.GetApiVersion() != "kubernetes.crossplane.io/v1alpha2" ||
		e.GetErrorMessage() != "boom" ||
		e.GetOperation() != changelogs.OperationType_OPERATION_TYPE_UPDATE ||
		!strings.HasPrefix(e.GetProvider(), "provider-kcp:") {
		t.Errorf("the entry says what was changed and how, got %v", e)
	}
}

// TestLogToNobody shows that a change is not held up for ever by a service that does not listen.
func TestLogToNobody(t *testing.T) {
	l := dial(t, filepath.Join(t.TempDir(), "none.sock"))
	if err := l.Log(t.Context(), object(), changelogs.OperationType_OPERATION_TYPE_CREATE, nil, nil); err == nil {
		t.Error("want an error, as nobody listens")
	}
}
