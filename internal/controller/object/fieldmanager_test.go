package object

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
)

func TestFieldManager(t *testing.T) {
	const most = 128 // It is what API servers take.
	long := strings.Repeat("x", most)
	for name, tc := range map[string]struct {
		reason          string
		namespace, name string
		plain, own      string // the beginning of it, if there is a hash
		hash            bool
	}{
		"Namespaced": {
			reason:    "Alone it is that of provider-kubernetes to the letter; else the namespace tells it apart.",
			namespace: "team", name: "app", plain: "provider-kubernetes/app", own: "provider-kubernetes/app@team",
		},
		"Cluster": {
			reason: "An Object without a namespace is told apart from those with one.",
			name:   "app", plain: "provider-kubernetes/app", own: "provider-kubernetes/app@",
		},
		"Long": {
			reason:    "The end of a name that is too long gives way to a hash.",
			namespace: "team", name: long, plain: "provider-kubernetes/xxx", own: "provider-kubernetes/xxx", hash: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := &mobjectv1alpha1.Object{ObjectMeta: metav1.ObjectMeta{Namespace: tc.namespace, Name: tc.name}}
			plain, own := fieldManager(o), ownFieldManager(o)
			if !tc.hash && (plain != tc.plain || own != tc.own) {
				t.Errorf("%s\nwant %s and %s, got %s and %s", tc.reason, tc.plain, tc.own, plain, own)
			}
			for got, want := range map[string]string{plain: tc.plain, own: tc.own} {
				if !strings.HasPrefix(got, want) || len(got) > most {
					t.Errorf("%s\nwant at most %d characters that begin with %s, got %s", tc.reason, most, want, got)
				}
			}
			if plain == own {
				t.Errorf("%s\nwant two managers, got %s twice", tc.reason, plain)
			}
		})
	}
}

func TestPrecedes(t *testing.T) {
	const uid, elsewhere types.UID = "resource", "another"
	object := func(name types.UID, age time.Duration, seen types.UID,
		applied *commonv1.AppliedRecord,
	) *mobjectv1alpha1.Object {
		raw, err := json.Marshal(metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: "settings", UID: seen,
		}})
		if err != nil {
			t.Fatal(err)
		}
		o := &mobjectv1alpha1.Object{ObjectMeta: metav1.ObjectMeta{
			UID: name, CreationTimestamp: metav1.NewTime(time.Unix(0, 0).Add(-age)),
		}}
		o.Status.AtProvider = commonv1.ObjectObservation{Manifest: runtime.RawExtension{Raw: raw}, Applied: applied}
		return o
	}
	plain, own := &commonv1.AppliedRecord{}, &commonv1.AppliedRecord{FieldManager: "provider-kubernetes/app@team"}
	for name, tc := range map[string]struct {
		reason string
		a, b   Object
		want   bool
	}{
		"AppliedBeforeSeen": {
			reason: "Who has applied by the name keeps it, however old the other is.",
			a:      object("a", 0, uid, plain), b: object("b", time.Hour, uid, nil), want: true,
		},
		"SeenBeforeNew": {
			reason: "Who has seen the resource may have applied it before a takeover.",
			a:      object("a", 0, uid, nil), b: object("b", time.Hour, "", nil), want: true,
		},
		"Older": {
			reason: "Among equals the name is of the oldest.",
			a:      object("a", time.Hour, uid, nil), b: object("b", 0, uid, nil), want: true,
		},
		"SameAge": {
			reason: "If they are as old, the UID decides, so that both come to the same result.",
			a:      object("a", 0, uid, plain), b: object("b", 0, uid, plain), want: true,
		},
		"ToldApart": {
			reason: "Who has a name of its own has no claim to the other.",
			a:      object("a", time.Hour, uid, own), b: object("b", 0, uid, nil),
		},
		"Elsewhere": {
			reason: "Nor who is at a resource of that name on another cluster.",
			a:      object("a", time.Hour, elsewhere, plain), b: object("b", 0, "", nil),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := precedes(tc.a, tc.b, uid); got != tc.want {
				t.Errorf("%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
			if tc.want && precedes(tc.b, tc.a, uid) {
				t.Errorf("%s\neach precedes the other", tc.reason)
			}
		})
	}
}
