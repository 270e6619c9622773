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

// Objects is the part of S3's API that Remains uses. *s3.Client implements it.
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

// Tables is the part of DynamoDB's API that Remains uses. *dynamodb.Client implements it.
type Tables interface {
	DeleteTable(
		ctx context.Context, in *dynamodb.DeleteTableInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.DeleteTableOutput, error)
}

// Remains are the resources that remain after a stack is deleted: its tables, and its bucket with
// all objects.
type Remains struct {
	Objects Objects
	Tables  Tables
	// Bucket is the bucket, and Names are the tables. Absent ones are not an error.
	Bucket string
	Names  []string
}

// Remove deletes all remains permanently. If it was interrupted, it may be called again.
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

// empty deletes all versions of all objects. It deletes each page before it reads the next, so it
// always reads from the beginning.
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
