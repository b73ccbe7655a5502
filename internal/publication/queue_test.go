package publication

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"
	kerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/jsonpath"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

func in(cluster, name string) objectsync.Primary {
	return objectsync.Primary{Cluster: cluster, NamespacedName: types.NamespacedName{Name: name}}
}

// TestWorkspacesTakeTurns shows that a workspace with much to do delays another by one object.
func TestWorkspacesTakeTurns(t *testing.T) {
	q := newQueue()
	defer q.ShutDown()
	for _, p := range []objectsync.Primary{in("a", "1"), in("a", "2"), in("a", "3"), in("b", "1")} {
		q.Add(p)
	}
	var got []string
	for q.Len() > 0 {
		p, _ := q.Get()
		got = append(got, p.Cluster+p.Name)
	}
	if diff := cmp.Diff([]string{"a1", "b1", "a2", "a3"}, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestPauses shows how long an object rests at most that fails again and again.
func TestPauses(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		want   time.Duration
	}{
		"Unknown": {reason: "A cause that may pass is tried again soon.", err: errors.New("boom"), want: retryMost},
		"Foreign": {
			reason: "That a name is taken only a change cures, which is a reason to look again.",
			err:    errors.Wrap(objectsync.ErrForeign, "a"),
			want:   lastingMost,
		},
		"Exists": {
			reason: "Likewise, of a name that the operator has taken.",
			err:    errors.Wrap(objectsync.ErrExists, "a"),
			want:   lastingMost,
		},
		"Invalid": {
			reason: "What a server does not accept it does not accept a second time.",
			err:    errors.Wrap(&objectsync.RefusalError{}, "cannot create"), want: lastingMost,
		},
		"OneOfTwo": {
			reason: "Nor beside another failure.",
			err: kerrors.NewAggregate([]error{
				errors.New("boom"), errors.Wrap(&objectsync.RefusalError{}, "cannot create"),
			}), want: lastingMost,
		},
		"Template": {
			reason: "A template yields nothing for an object before that, or its copy, is another.",
			err:    errors.Wrap(gotemplate.ErrFailed, "a"),
			want:   lastingMost,
		},
		"Costly": {
			reason: "Nor does it become cheaper.",
			err:    errors.Wrap(gotemplate.ErrTooCostly, "a"),
			want:   lastingMost,
		},
		"Long": {reason: "Nor a text shorter.", err: errors.Wrap(jsonpath.ErrTooLong, "a"), want: lastingMost},
		"Credential": {
			reason: "Nor a credential another Secret.",
			err:    errors.Wrap(objectsync.ErrCredential, "a"),
			want:   lastingMost,
		},
		"Panic": {
			reason: "A mistake of the program is made again.",
			err:    errors.Wrap(errPanic, "a"),
			want:   lastingMost,
		},
		"Early": {reason: "What is not known yet is known soon.", err: errEndpointGone, want: earlyMost},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			q := newQueue()
			defer q.ShutDown()
			p := in("a", "1")
			got := q.pause(p, tc.err)
			if tc.want == lastingMost {
				wantNoneAfterHalfAMinute(t, q, p, tc.err, got)
			}
			if got != retryFirst {
				t.Errorf("the first pause: want %s, got %s", retryFirst, got)
			}
			for range 20 {
				got = q.pause(p, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			q.Forget(p)
			if got := q.pause(p, tc.err); got != retryFirst {
				t.Errorf("the first pause of a new failure: want %s, got %s", retryFirst, got)
			}
		})
	}
}

// wantNoneAfterHalfAMinute checks that an object is not tried for long after half a minute from its first failure,
// whose pause is given.
func wantNoneAfterHalfAMinute(t *testing.T, q queue, p objectsync.Primary, err error, first time.Duration) {
	t.Helper()
	for at := first; at < 5*time.Minute; at += q.pause(p, err) {
		if at > time.Minute/2 {
			t.Errorf("tried %s after it has failed", at)
		}
	}
}

// TestPauseAfterOutage shows that an object that could not be synced for long does not rest for long as soon as
// something that lasts is found out about it: what lasts may end with the outage.
func TestPauseAfterOutage(t *testing.T) {
	q := newQueue()
	defer q.ShutDown()
	p := in("a", "1")
	for range 20 {
		q.pause(p, errors.New("unreachable"))
	}
	if got := q.pause(p, objectsync.ErrForeign); got != retryFirst {
		t.Errorf("want %s, got %s", retryFirst, got)
	}
}
