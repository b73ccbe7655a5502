package object_test

import (
	"fmt"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
)

// A wantCondition is a condition a test waits for; an empty reason stands for any.
type wantCondition struct {
	Type   xpv2.ConditionType
	Status corev1.ConditionStatus
	Reason xpv2.ConditionReason
}

// String names the condition in messages.
func (w wantCondition) String() string { return fmt.Sprintf("%s=%s %s", w.Type, w.Status, w.Reason) }

var (
	synced = wantCondition{Type: xpv2.TypeSynced, Status: corev1.ConditionTrue}
	ready  = wantCondition{Type: xpv2.TypeReady, Status: corev1.ConditionTrue}
)

// failed is condition Synced=False for a reason.
func failed(r xpv2.ConditionReason) wantCondition {
	return wantCondition{Type: xpv2.TypeSynced, Status: corev1.ConditionFalse, Reason: r}
}
