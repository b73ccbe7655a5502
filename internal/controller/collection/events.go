package collection

import (
	"fmt"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
)

// Reasons of events.
const (
	reasonApplied       event.Reason = "AppliedMembers"
	reasonDeleted       event.Reason = "DeletedMembers"
	reasonCannotConnect event.Reason = "CannotConnectToTarget"
	reasonCannotSelect  event.Reason = "CannotSelectResources"
	reasonCannotCompare event.Reason = "CannotCompareMembers"
	reasonCannotApply   event.Reason = "CannotApplyMembers"
	reasonCannotDelete  event.Reason = "CannotDeleteMembers"
)

// namedMost is how many members an event names.
const namedMost = 3

// enumerate names the first of some names, and says how many there are beside.
func enumerate(names []string) string {
	if len(names) <= namedMost {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:namedMost], ", "), len(names)-namedMost)
}
