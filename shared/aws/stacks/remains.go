package stacks

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"southbound/shared/aws/awserr"
	"southbound/shared/fault"
)

// Objects is what is needed of S3; *s3.Client has it.
type Objects interface {
	ListObjectVersions(
		ctx context.Context, in *s3.ListObjectVersionsInput, opts ...func(*s3.Options),
	) (*s3.ListObjectVersionsOutput, error)
	DeleteObjects(
		ctx context.Context, in *s3.DeleteObjectsInput, opts ...func(*s3.Options),
	) (*s3.DeleteObjectsOutput, error)
	DeleteBucket(
		ctx context.Context, in *s3.DeleteBucketInput, opts ...func(*s3.Options),
	) (*s3.DeleteBucketOutput, error)
}

// Tables is what is needed of DynamoDB; *dynamodb.Client has it.
type Tables interface {
	DeleteTable(
		ctx context.Context, in *dynamodb.DeleteTableInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.DeleteTableOutput, error)
}

// Remains are what a stack leaves behind when it is deleted: its tables, and its bucket with all
// that is in it.
type Remains struct {
	Objects Objects
	Tables  Tables
	// Bucket, and Names of the tables: what is not there is no error.
	Bucket string
	Names  []string
}

// Remove removes all, and nothing brings it back. It may be called again after it was interrupted.
func (r *Remains) Remove(ctx context.Context) error {
	if err := r.empty(ctx); err != nil {
		return err
	}
	_, err := r.Objects.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &r.Bucket})
	if err != nil && !awserr.Is(err, "NoSuchBucket") {
		return awserr.Fault("delete bucket "+r.Bucket, err)
	}
	for _, table := range r.Names {
		_, err = r.Tables.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table})
		if err != nil && !awserr.Is(err, "ResourceNotFoundException") {
			return awserr.Fault("delete table "+table, err)
		}
	}
	return nil
}

// empty deletes all versions of all objects. A page is deleted before the next is asked for, so the
// list always begins anew.
func (r *Remains) empty(ctx context.Context) error {
	for {
		page, err := r.Objects.ListObjectVersions(ctx,
			&s3.ListObjectVersionsInput{Bucket: &r.Bucket})
		if awserr.Is(err, "NoSuchBucket") {
			return nil
		}
		if err != nil {
			return awserr.Fault("list bucket "+r.Bucket, err)
		}
		ids := identify(page)
		if len(ids) == 0 {
			return nil
		}
		out, err := r.Objects.DeleteObjects(ctx,
			&s3.DeleteObjectsInput{Bucket: &r.Bucket,
				Delete: &types.Delete{Objects: ids, Quiet: aws.Bool(true)}})
		if err != nil {
			return awserr.Fault("empty bucket "+r.Bucket, err)
		}
		if len(out.Errors) > 0 {
			e := out.Errors[0]
			return fault.New(fault.Unavailable, "empty bucket "+r.Bucket, "%s: %s: %s",
				aws.ToString(e.Key), aws.ToString(e.Code), aws.ToString(e.Message))
		}
	}
}

func identify(page *s3.ListObjectVersionsOutput) []types.ObjectIdentifier {
	var ids []types.ObjectIdentifier
	for _, v := range page.Versions {
		ids = append(ids, types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
	}
	for _, m := range page.DeleteMarkers {
		ids = append(ids, types.ObjectIdentifier{Key: m.Key, VersionId: m.VersionId})
	}
	return ids
}
