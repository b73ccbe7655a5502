package providerconfig

import (
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
)

func TestReady(t *testing.T) {
	before := metav1.NewTime(time.Now().Add(-time.Hour))
	condition := func(s corev1.ConditionStatus, r xpv2.ConditionReason, message string) xpv2.Condition {
		return xpv2.Condition{
			Type: xpv2.TypeReady, Status: s, Reason: r, Message: message, LastTransitionTime: before,
		}
	}
	answers := condition(corev1.ConditionTrue, commonv1.ReasonTargetAnswers, "")
	lost := condition(corev1.ConditionFalse, commonv1.ReasonTargetUnreachable, "target is unreachable")
	type want struct {
		is    xpv2.Condition
		known bool
		moved bool // the time of the last transition
	}
	cases := map[string]struct {
		reason string
		was    xpv2.Condition
		health clusters.Health
		want   want
	}{
		"Connecting": {
			reason: "Nothing is said before the first answer, nor after a restart.",
			was:    lost,
		},
		"Answers": {
			reason: "A target that answers is ready.",
			health: clusters.Health{Known: true},
			want:   want{is: answers, known: true, moved: true},
		},
		"AnswersStill": {
			reason: "It is ready since the first answer.",
			was:    answers, health: clusters.Health{Known: true},
			want: want{is: answers, known: true},
		},
		"Unreachable": {
			reason: "An outage shows at once.",
			was:    answers, health: clusters.Health{Known: true, Err: clusters.ErrUnreachable},
			want: want{
				is:    condition(corev1.ConditionFalse, commonv1.ReasonTargetUnreachable, ""),
				known: true, moved: true,
			},
		},
		"Unauthorized": {
			reason: "Credentials that are refused are another fault, since the same time.",
			was:    lost, health: clusters.Health{Known: true, Err: clusters.ErrUnauthorized},
			want: want{
				is: condition(corev1.ConditionFalse, commonv1.ReasonUnauthorized,
					clusters.ErrUnauthorized.Error()),
				known: true,
			},
		},
		"Unreadable": {
			reason: "A Secret that may not be read is a fault of the connection.",
			was:    answers, health: clusters.Health{Err: errors.New("forbidden")},
			want: want{
				is:    condition(corev1.ConditionFalse, commonv1.ReasonInvalidConnection, "forbidden"),
				known: true, moved: true,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			is, known := ready(tc.was, tc.health)
			if known != tc.want.known {
				t.Fatalf("%s\nready: want known %t, got %t", tc.reason, tc.want.known, known)
			}
			if !known {
				return
			}
			if diff := cmp.Diff(tc.want.is, is, cmpopts.IgnoreFields(xpv2.Condition{}, "LastTransitionTime")); diff != "" {
				t.Errorf("%s\nready: -want, +got:\n%s", tc.reason, diff)
			}
			if moved := !is.LastTransitionTime.Equal(&tc.was.LastTransitionTime); moved != tc.want.moved {
				t.Errorf("%s\nready: want another time of transition %t, got %t", tc.reason, tc.want.moved, moved)
			}
		})
	}
}
