package collection

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// DeleteMember does what a pass does to a member that it holds for one to be deleted, although that may be out of date.
func DeleteMember[T Collection](ctx context.Context, c client.Client, k scope.CollectionKind[T], of T, name string,
	uid types.UID,
) error {
	r := &Reconciler[T]{kind: k, Base: targetresource.Base[T]{Core: targetresource.Core{Local: c}}}
	return r.deleteMember(ctx, &pass[T]{collection: of}, member{name: name, uid: uid})
}
